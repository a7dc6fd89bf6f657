//! Where the keys to a bucket come from.
mod cached;
mod document;
mod environment;
mod ini;
mod metadata;
mod process;
mod profile;
mod web_identity;

pub(super) use cached::Cached;
pub use environment::Environment;
pub(super) use environment::variable;
pub use metadata::{Container, Instance};
pub use profile::Profile;
pub use web_identity::WebIdentity;

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Keys that sign requests. What is secret shows in no output.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// Names the key; not secret.
    pub access_key: String,
    /// Signs.
    pub secret_key: String,
    /// Goes along with temporary keys.
    pub session_token: Option<String>,
    /// When they end; `None` if they do not.
    pub expires: Option<SystemTime>,
}

impl Keys {
    /// Keys that do not end.
    #[must_use]
    pub fn new(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Self { access_key: access_key.into(), secret_key: secret_key.into(), session_token: None, expires: None }
    }
}

impl Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("expires", &self.expires).finish_non_exhaustive()
    }
}

/// A source of keys. The store asks once, and again ahead of their end, never for every request; one caller asks, the
/// others meanwhile use the old keys or wait.
pub trait Credentials: Debug + Send + Sync {
    /// The keys as they are now; `None` to ask without signing, which a public bucket allows.
    ///
    /// # Errors
    /// The source has none, or did not answer by `until`.
    fn keys(&self, until: Instant) -> Result<Option<Keys>, NoKeys>;
}

/// Why there are no keys; holds nothing secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no keys to sign with: {0}")]
pub struct NoKeys(pub String);

/// Keys given in the program.
impl Credentials for Keys {
    fn keys(&self, _until: Instant) -> Result<Option<Keys>, NoKeys> {
        Ok(Some(self.clone()))
    }
}

/// No keys: requests are not signed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

impl Credentials for Anonymous {
    fn keys(&self, _until: Instant) -> Result<Option<Keys>, NoKeys> {
        Ok(None)
    }
}

/// Where AWS's own tools look, in their order: the environment, a web identity, the default profile, the container,
/// the instance. A profile that is named comes alone.
///
/// # Errors
/// The environment names a source that can't be used.
pub fn standard(profile: Option<&str>, region: &str) -> Result<Arc<dyn Credentials>, NoKeys> {
    let shared = Profile::new(profile);
    if profile.is_some() {
        return Ok(Arc::new(shared));
    }
    if variable("AWS_ACCESS_KEY_ID").is_some() {
        return Ok(Arc::new(Environment));
    }
    if let Some(identity) = WebIdentity::from_environment(region) {
        return Ok(Arc::new(identity));
    }
    if shared.exists() {
        return Ok(Arc::new(shared));
    }
    match Container::from_environment()? {
        Some(container) => Ok(Arc::new(container)),
        None if variable("AWS_EC2_METADATA_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) => {
            Ok(Arc::new(shared))
        }
        None => Ok(Arc::new(Instance::default())),
    }
}
