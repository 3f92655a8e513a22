//! Why an operator runs on the side where it does: a stable code and a few words.
//!
//! Invariant: codes never change their spelling; scripts and golden files rely on them. Every operator of a placed plan
//! has exactly one reason.

use std::fmt;

/// The kind of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReasonCode {
    /// On the GPU: the whole plan is estimated to be faster so.
    Cheaper,
    /// On either side: the query or a setting asks for it.
    Forced,
    /// On the CPU: there is no kernel for the operator.
    NoKernel,
    /// On the CPU: there is a kernel, but not for a call with these options.
    Options,
    /// On the CPU: a column has a type that no kernel takes.
    Type,
    /// On the CPU: the expression can end in an error, which only the CPU reports.
    MayFail,
    /// On the CPU: the expression has a part that kernels do not compute.
    Expression,
    /// On the CPU: the value differs from call to call.
    Volatile,
    /// On the CPU: rows of several inputs meet there.
    Inputs,
    /// On the CPU: a device would not put rows together to the same bits, or has no kernel that does.
    Aggregate,
    /// On the CPU: the device would take longer.
    CostsMore,
    /// On the CPU: the device computes it faster, but copying takes longer than what that saves.
    Transfer,
    /// On the CPU: not even the smallest batch fits into the memory of the device.
    TooBig,
    /// On the CPU: there is no GPU.
    NoGpu,
}

impl ReasonCode {
    /// All codes.
    #[cfg(test)]
    const ALL: [ReasonCode; 14] = [
        ReasonCode::Cheaper,
        ReasonCode::Forced,
        ReasonCode::NoKernel,
        ReasonCode::Options,
        ReasonCode::Type,
        ReasonCode::MayFail,
        ReasonCode::Expression,
        ReasonCode::Volatile,
        ReasonCode::Inputs,
        ReasonCode::Aggregate,
        ReasonCode::CostsMore,
        ReasonCode::Transfer,
        ReasonCode::TooBig,
        ReasonCode::NoGpu,
    ];

    /// The code as `EXPLAIN` writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            ReasonCode::Cheaper => "cheaper",
            ReasonCode::Forced => "forced",
            ReasonCode::NoKernel => "no-kernel",
            ReasonCode::Options => "options",
            ReasonCode::Type => "type",
            ReasonCode::MayFail => "may-fail",
            ReasonCode::Expression => "expression",
            ReasonCode::Volatile => "volatile",
            ReasonCode::Inputs => "inputs",
            ReasonCode::Aggregate => "aggregate",
            ReasonCode::CostsMore => "costs-more",
            ReasonCode::Transfer => "transfer",
            ReasonCode::TooBig => "too-big",
            ReasonCode::NoGpu => "no-gpu",
        }
    }

    /// What the code means, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            ReasonCode::Cheaper => "the whole plan is estimated to be faster so",
            ReasonCode::Forced => "the query or a setting asks for it",
            ReasonCode::NoKernel => "there is no kernel for this operator",
            ReasonCode::Options => "its kernel does not compute calls with these options",
            ReasonCode::Type => "a column has a type that kernels do not take",
            ReasonCode::MayFail => "it can end in an error, which only the CPU reports",
            ReasonCode::Expression => "it has a part that kernels do not compute",
            ReasonCode::Volatile => "its value differs from call to call",
            ReasonCode::Inputs => "rows of several inputs meet on the CPU",
            ReasonCode::Aggregate => "a device does not put these rows together",
            ReasonCode::CostsMore => "the device would take longer",
            ReasonCode::Transfer => "copying would take longer than what the device saves",
            ReasonCode::TooBig => "not even the smallest batch fits into the memory of the device",
            ReasonCode::NoGpu => "there is no GPU",
        }
    }

    /// Whether the device could have run the operator, and the estimate alone spoke against it.
    pub fn is_a_matter_of_cost(self) -> bool {
        matches!(self, ReasonCode::CostsMore | ReasonCode::Transfer)
    }
}

/// Why an operator runs where it does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reason {
    /// The kind.
    pub code: ReasonCode,
    /// What is special about this operator; may be empty.
    pub detail: String,
}

impl Reason {
    /// A reason with words of its own.
    pub fn new(code: ReasonCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}

impl From<ReasonCode> for Reason {
    fn from(code: ReasonCode) -> Self {
        Self { code, detail: String::new() }
    }
}

impl fmt::Display for Reason {
    /// `no-kernel: compression stays on the CPU`. Without words of its own, what the code means.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = if self.detail.is_empty() { self.code.meaning() } else { &self.detail };
        write!(f, "{}: {detail}", self.code.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_lower_case_words_and_differ() {
        let mut codes: Vec<&str> = ReasonCode::ALL.iter().map(|code| code.as_str()).collect();
        assert!(codes.iter().all(|code| code.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ReasonCode::ALL.len());
    }

    #[test]
    fn a_reason_without_words_of_its_own_says_what_its_code_means() {
        assert_eq!(Reason::from(ReasonCode::NoGpu).to_string(), "no-gpu: there is no GPU");
        let own = Reason::new(ReasonCode::NoKernel, "compression stays on the CPU");
        assert_eq!(own.to_string(), "no-kernel: compression stays on the CPU");
    }
}
