//! The kinds of personal data, and which of them a call wants.

use crate::ops::prelude::*;

/// What a finding is. The order decides between findings of the same characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ops::safety) enum Kind {
    Url,
    Email,
    Ipv6,
    Ipv4,
    Iban,
    CreditCard,
    UsSsn,
    Phone,
}

/// The names, as options give them.
pub(in crate::ops::safety) const NAMES: &[&str] =
    &["email", "phone", "ipv4", "ipv6", "credit_card", "iban", "us_ssn", "url"];

impl Kind {
    const ALL: [Kind; 8] =
        [Kind::Email, Kind::Phone, Kind::Ipv4, Kind::Ipv6, Kind::CreditCard, Kind::Iban, Kind::UsSsn, Kind::Url];

    /// As options and results name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Email => "email",
            Kind::Phone => "phone",
            Kind::Ipv4 => "ipv4",
            Kind::Ipv6 => "ipv6",
            Kind::CreditCard => "credit_card",
            Kind::Iban => "iban",
            Kind::UsSsn => "us_ssn",
            Kind::Url => "url",
        }
    }
}

/// The findings that a call asks for.
#[derive(Debug, Clone, Copy)]
pub(in crate::ops::safety) struct Wanted {
    kinds: u8,
    /// Addresses of networks only if the whole internet can reach them.
    pub public_only: bool,
}

impl Wanted {
    /// The parameter `kinds`, which each operator has.
    pub const KINDS: Param = Param::choices("kinds", "what to look for", NAMES).default(Literal::TextList(&[
        "email",
        "phone",
        "ipv4",
        "ipv6",
        "credit_card",
        "iban",
        "us_ssn",
    ]));

    /// The parameter `public_only`, which each operator has.
    pub const PUBLIC_ONLY: Param =
        Param::bool("public_only", "IP addresses only if they are global ones").default(Literal::Bool(false));

    /// As the options say.
    pub fn of(args: &Args) -> Self {
        let bits = args
            .texts("kinds")
            .iter()
            .map(|name| Kind::ALL.iter().find(|kind| kind.name() == name).map_or(0, |kind| 1 << *kind as u8));
        Self { kinds: bits.fold(0, |kinds, bit| kinds | bit), public_only: args.bool("public_only") }
    }

    /// Whether findings of this kind are asked for.
    pub fn has(self, kind: Kind) -> bool {
        self.kinds & (1 << kind as u8) != 0
    }

    /// Whether findings of one of these kinds are asked for.
    pub fn has_any(self, kinds: &[Kind]) -> bool {
        kinds.iter().any(|kind| self.has(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_name() {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names, NAMES);
    }
}
