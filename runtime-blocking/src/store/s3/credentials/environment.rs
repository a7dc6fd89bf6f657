//! Keys and settings from variables of the environment.
use super::{Credentials, Keys, NoKeys};
use std::env;
use std::time::Instant;

/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, for temporary keys, `AWS_SESSION_TOKEN`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Environment;

/// A variable that is set and not empty.
pub(in crate::store::s3) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

impl Credentials for Environment {
    fn keys(&self, _until: Instant) -> Result<Option<Keys>, NoKeys> {
        keys(variable).map(Some)
    }
}

fn keys(variable: impl Fn(&str) -> Option<String>) -> Result<Keys, NoKeys> {
    let need = |name: &str| variable(name).ok_or_else(|| NoKeys(format!("{name} is not set")));
    let (access_key, secret_key) = (need("AWS_ACCESS_KEY_ID")?, need("AWS_SECRET_ACCESS_KEY")?);
    Ok(Keys { access_key, secret_key, session_token: variable("AWS_SESSION_TOKEN"), expires: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_variables_are_needed_and_the_third_is_not() {
        let all = [("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "S"), ("AWS_SESSION_TOKEN", "T")];
        let of = |set: &[(&str, &str)]| {
            let set: Vec<_> = set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            keys(move |name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
        };
        assert_eq!(of(&all[..2]), Ok(Keys::new("A", "S")));
        assert_eq!(of(&all).unwrap().session_token.as_deref(), Some("T"));
        assert_eq!(of(&all[..1]), Err(NoKeys("AWS_SECRET_ACCESS_KEY is not set".to_owned())));
        assert_eq!(of(&[]), Err(NoKeys("AWS_ACCESS_KEY_ID is not set".to_owned())));
    }
}
