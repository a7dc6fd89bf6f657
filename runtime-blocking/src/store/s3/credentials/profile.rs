//! Keys and settings from the files that AWS tools share.
use super::environment::variable;
use super::ini::{section, setting};
use super::process::run;
use super::{Credentials, Keys, NoKeys};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// A profile of `~/.aws/credentials` and `~/.aws/config`, or of the files that `AWS_SHARED_CREDENTIALS_FILE` and
/// `AWS_CONFIG_FILE` name. The files are read anew each time.
///
/// A profile gives its keys itself or names a `credential_process` that prints them. Profiles that take on a role are
/// not supported.
#[derive(Clone, Debug)]
pub struct Profile {
    name: String,
    credentials: PathBuf,
    config: PathBuf,
}

impl Profile {
    /// The profile of this name; `None` for the one that `AWS_PROFILE` names, or else `default`.
    #[must_use]
    pub fn new(name: Option<&str>) -> Self {
        let name = name.map(str::to_owned).or_else(|| variable("AWS_PROFILE")).unwrap_or_else(|| "default".to_owned());
        let file = |set: &str, usual: &str| {
            let home = || PathBuf::from(variable("HOME").unwrap_or_default()).join(".aws").join(usual);
            variable(set).map_or_else(home, PathBuf::from)
        };
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
        Self { name, credentials, config: file("AWS_CONFIG_FILE", "config") }
    }

    /// The profile of this name in these two files.
    #[must_use]
    pub fn in_files(name: &str, credentials: impl Into<PathBuf>, config: impl Into<PathBuf>) -> Self {
        Self { name: name.to_owned(), credentials: credentials.into(), config: config.into() }
    }

    /// A setting that is not secret, such as `region`.
    pub(in crate::store::s3) fn setting(&self, name: &str) -> Option<String> {
        self.read(&[name]).into_iter().flatten().next()
    }

    /// Whether the files know the profile at all, or it was asked for in the environment.
    pub(super) fn exists(&self) -> bool {
        let known = self.read(&["aws_access_key_id", "credential_process"]).iter().any(Option::is_some);
        known || variable("AWS_PROFILE").is_some()
    }

    /// Values of these settings, each from the first file that has it; the credentials file comes first.
    fn read<const N: usize>(&self, names: &[&str; N]) -> [Option<String>; N] {
        let credentials = fs::read_to_string(&self.credentials).unwrap_or_default();
        let config = fs::read_to_string(&self.config).unwrap_or_default();
        let title = if self.name == "default" { self.name.clone() } else { format!("profile {}", self.name) };
        let sections = [section(&credentials, &self.name), section(&config, &title)];
        let find = |name| sections.iter().flatten().find_map(|section| setting(section, name)).map(str::to_owned);
        names.map(find)
    }
}

impl Credentials for Profile {
    fn keys(&self, _until: Instant) -> Result<Option<Keys>, NoKeys> {
        let names = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token", "credential_process"];
        match self.read(&names) {
            [Some(access_key), Some(secret_key), session_token, _] => {
                Ok(Some(Keys { access_key, secret_key, session_token, expires: None }))
            }
            [_, _, _, Some(command)] => run(&command).map(Some),
            _ => Err(NoKeys(format!(
                "the profile `{}` has neither keys nor a credential_process in {} or {}",
                self.name,
                self.credentials.display(),
                self.config.display()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::s3::soon;
    use tempfile::TempDir;

    fn files(credentials: &str, config: &str) -> (TempDir, [PathBuf; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["credentials", "config"].map(|name| folder.path().join(name));
        fs::write(&paths[0], credentials).unwrap();
        fs::write(&paths[1], config).unwrap();
        (folder, paths)
    }

    #[test]
    fn the_credentials_file_comes_before_the_config_file() {
        let (_folder, [credentials, config]) = files(
            "[work]\naws_access_key_id = A\naws_secret_access_key = S\n",
            "[profile work]\naws_access_key_id = other\nregion = eu-west-1\n[default]\nregion = us-east-2\n",
        );
        let work = Profile::in_files("work", &credentials, &config);
        assert_eq!(work.keys(soon()), Ok(Some(Keys::new("A", "S"))));
        assert_eq!(work.setting("region").as_deref(), Some("eu-west-1"));
        let default = Profile::in_files("default", &credentials, &config);
        assert_eq!(default.setting("region").as_deref(), Some("us-east-2"));
        assert!(default.keys(soon()).unwrap_err().to_string().contains("the profile `default` has neither keys"));
    }

    #[test]
    fn the_files_are_read_anew_each_time() {
        let (_folder, [credentials, config]) = files("[default]\naws_access_key_id=A\naws_secret_access_key=S", "");
        let profile = Profile::in_files("default", &credentials, config);
        assert_eq!(profile.keys(soon()), Ok(Some(Keys::new("A", "S"))));
        fs::write(credentials, "[default]\naws_access_key_id=B\naws_secret_access_key=S").unwrap();
        assert_eq!(profile.keys(soon()), Ok(Some(Keys::new("B", "S"))));
    }

    #[test]
    fn a_process_gives_keys_and_when_they_end() {
        let json = r#"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T","Expiration":"1970-01-01T00:01:00Z"}"#;
        let (_folder, [credentials, config]) = files("", &format!("[default]\ncredential_process = echo '{json}'\n"));
        let keys = Profile::in_files("default", credentials, config).keys(soon()).unwrap().unwrap();
        let minute = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(60);
        assert_eq!(keys, Keys { session_token: Some("T".into()), expires: Some(minute), ..Keys::new("A", "S") });
    }

    #[test]
    fn what_a_failed_process_printed_stays_hidden() {
        let (_folder, [credentials, config]) = files("", "[default]\ncredential_process = echo SECRET; exit 3\n");
        let error = Profile::in_files("default", credentials, config).keys(soon()).unwrap_err();
        assert!(error.to_string().contains("credential_process ended with"), "{error}");
        assert!(!error.to_string().contains("SECRET"), "{error}");
    }
}
