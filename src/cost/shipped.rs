//! The profiles that are built in, and finding one by its name or path.

use super::profile::Profile;
use crate::diag::did_you_mean;
use crate::{Error, Result};
use std::path::Path;

/// The built-in profiles, by name.
static SHIPPED: &[(&str, &str)] = &[
    // The later one took the place of the other.
    ("a100", include_str!("../../profiles/a100-80gb.toml")),
    ("a100-40gb", include_str!("../../profiles/a100-40gb.toml")),
    ("a100-80gb", include_str!("../../profiles/a100-80gb.toml")),
    ("h100-sxm", include_str!("../../profiles/h100-sxm.toml")),
    ("l4", include_str!("../../profiles/l4.toml")),
    ("reference-cpu", include_str!("../../profiles/reference-cpu.toml")),
    ("rtx-4090", include_str!("../../profiles/rtx-4090.toml")),
    ("t4", include_str!("../../profiles/t4.toml")),
];

impl Profile {
    /// The names of the built-in profiles.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// A profile by its name, by the beginning of it if no other begins so (`h100`), or by the path of its file.
    pub fn find(name_or_path: &str) -> Result<Profile> {
        let wanted = name_or_path.to_lowercase();
        if let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == wanted) {
            return Profile::parse(text, &format!("profiles/{name}.toml"));
        }
        let path = Path::new(name_or_path);
        if path.extension().is_some() || path.components().count() > 1 || path.exists() {
            return Profile::read(path);
        }
        let begins: Vec<_> =
            SHIPPED.iter().filter(|(name, _)| !wanted.is_empty() && name.starts_with(&wanted)).collect();
        if let [(name, text)] = begins[..] {
            return Profile::parse(text, &format!("profiles/{name}.toml"));
        }
        let help = match begins[..] {
            [] => did_you_mean(&wanted, Self::shipped())
                .unwrap_or_else(|| format!("there are {}", Self::shipped().collect::<Vec<_>>().join(", "))),
            _ => format!("it could be {}", begins.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ")),
        };
        Err(Error::Data(format!("no profile `{name_or_path}`: {help}; a path to a file works too")))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::profile::{Cpu, ProbedDevice};
    use super::*;

    #[test]
    fn every_shipped_profile_reads_and_can_be_written_again() {
        for name in Profile::shipped() {
            let profile = Profile::find(name).unwrap();
            assert_eq!(profile.device.is_none(), name == "reference-cpu", "{name}");
            assert_eq!(Profile::parse(&profile.to_toml("copied"), name).unwrap(), profile);
        }
    }

    #[test]
    fn a_name_may_be_short_if_it_is_clear() {
        assert_eq!(Profile::find("H100").unwrap(), Profile::find("h100-sxm").unwrap());
        let refused = |name: &str| Profile::find(name).unwrap_err().to_string();
        assert_eq!(
            refused("a100-"),
            "no profile `a100-`: it could be a100-40gb or a100-80gb; a path to a file works too"
        );
        assert!(refused("zx81").starts_with("no profile `zx81`: there are a100, a100-40gb, a100-80gb, h100-sxm, "));
        assert!(refused("missing/h100.toml").starts_with("missing/h100.toml: "));
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_the_file_and_the_key() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Profile::parse(text, "my.toml").unwrap_err().to_string(), expected, "{text}");
        };
        let cpu = "name = \"x\"\n[cpu]\ncores = 4\nspeed = 1.0\n";
        check(&format!("{cpu}clock = 3\n"), "my.toml:5: unknown field `clock`, expected `cores` or `speed`");
        check("name = \"x\"\n[cpu]\ncores = 4\n", "my.toml:2: missing field `speed`");
        check(
            "name = \"x\"\n[cpu]\ncores = 4\nspeed = \"fast\"\n",
            "my.toml:4: invalid type: string \"fast\", expected f64",
        );
        check("name = \"x\"\n[cpu]\ncores = -4\nspeed = 1\n", "my.toml: `cpu.cores` is -4, but it must be above zero");
        check(
            &format!("{cpu}[link]\nlatency_s = 1e-6\npinned_bytes_per_s = 1e9\npageable_bytes_per_s = nan\n"),
            "my.toml: `link.pageable_bytes_per_s` is NaN, but it must be above zero",
        );
        check(
            &format!("{cpu}[link]\nlatency_s = 1e-6\npinned_bytes_per_s = 1e9\npageable_bytes_per_s = 1e9\n"),
            "my.toml: it has a `[link]` but no `[device]` at its end",
        );
        let t4 = SHIPPED.iter().find(|(name, _)| *name == "t4").unwrap().1;
        check(
            &t4.replace("efficiency = 0.2", "efficiency = 1.2"),
            "my.toml: `device.efficiency` is 1.2, but nothing is above its peak",
        );
    }

    #[test]
    fn a_probed_device_gets_about_the_figures_of_its_profile() {
        let t4 = Profile::find("t4").unwrap();
        let probed = ProbedDevice {
            name: "Tesla T4".into(),
            memory_bytes: 15_800_000_000,
            multiprocessors: 40,
            clock_khz: 1_590_000,
            memory_clock_khz: 5_001_000,
            memory_bus_bits: 256,
            capability: (7, 5),
        };
        let found = Profile::of_device(t4.cpu, &probed).device.unwrap();
        let listed = t4.device.unwrap();
        assert!((found.memory_bytes_per_s / listed.memory_bytes_per_s - 1.0).abs() < 0.01);
        assert_eq!((found.clock_hz, found.rows_at_once()), (listed.clock_hz, listed.rows_at_once()));
        // A driver that says nothing still makes a profile that can be written and read.
        let unknown = Profile::of_device(Cpu { cores: 2.0, speed: 1.0 }, &ProbedDevice::default());
        assert_eq!(Profile::parse(&unknown.to_toml(""), "unknown").unwrap(), unknown);
    }
}
