//! The profile of AWS's tools: `~/.aws/credentials` and `~/.aws/config`.
//!
//! The client of the stores knows the environment and the machine's role, but not these files. Keys, region and endpoint are
//! taken from them; profiles that get keys from elsewhere (single sign-on, a program, another role) are named and refused.

use std::collections::HashMap;
use std::path::PathBuf;

/// What a profile says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Profile(HashMap<String, String>);

/// Settings by which a profile gets its keys from elsewhere.
const ELSEWHERE: [&str; 5] =
    ["sso_session", "sso_start_url", "credential_process", "source_profile", "credential_source"];

impl Profile {
    /// The profile that `AWS_PROFILE` names, else `default`; empty if there is none.
    pub fn load() -> Self {
        let name = variable("AWS_PROFILE").or_else(|| variable("AWS_DEFAULT_PROFILE")).unwrap_or("default".into());
        let home = variable("HOME").map(|home| PathBuf::from(home).join(".aws"));
        let file = |asked: &str, usual: &str| {
            let path = variable(asked).map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(usual)))?;
            std::fs::read_to_string(path).ok()
        };
        let (config, credentials) =
            (file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
        Self::of(&name, &config.unwrap_or_default(), &credentials.unwrap_or_default())
    }

    fn of(name: &str, config: &str, credentials: &str) -> Self {
        let mut found = HashMap::new();
        let in_config = if name == "default" { name.to_string() } else { format!("profile {name}") };
        read_section(config, &[&in_config, name], &mut found);
        read_section(credentials, &[name], &mut found);
        Self(found)
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The setting by which the keys come from elsewhere, if they do.
    pub fn is_elsewhere(&self) -> Option<&'static str> {
        let has_keys = self.get("aws_access_key_id").is_some();
        ELSEWHERE.into_iter().find(|key| !has_keys && self.get(key).is_some())
    }
}

/// A variable that is set to something.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// `key = value` lines of `[section]`s. Lines that are indented belong to a setting of their own, which none of ours is.
fn read_section(text: &str, sections: &[&str], found: &mut HashMap<String, String>) {
    let mut is_wanted = false;
    for line in text.lines().filter(|line| !line.starts_with(['#', ';', ' ', '\t'])) {
        if let Some(section) = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_wanted = sections.contains(&section.trim());
        } else if let (true, Some((key, value))) = (is_wanted, line.split_once('=')) {
            found.insert(key.trim().to_ascii_lowercase(), value.trim().to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_from_both_files_and_keys_from_elsewhere_are_noticed() {
        let config = "[default]\nregion = eu-west-1\n[profile lab]\nregion=us-west-2\ns3 =\n  region = no\n";
        let credentials = "# mine\n[default]\naws_access_key_id = A\n[lab]\naws_access_key_id=B\n";
        let get = |name, key| Profile::of(name, config, credentials).get(key).map(str::to_string);
        assert_eq!(get("default", "region").as_deref(), Some("eu-west-1"));
        assert_eq!(get("default", "aws_access_key_id").as_deref(), Some("A"));
        assert_eq!(get("lab", "region").as_deref(), Some("us-west-2"));
        assert_eq!(get("lab", "aws_access_key_id").as_deref(), Some("B"));
        assert_eq!(get("other", "region"), None);
        let sso = Profile::of("work", "[profile work]\nsso_session = s\n", "");
        assert_eq!(sso.is_elsewhere(), Some("sso_session"));
    }
}
