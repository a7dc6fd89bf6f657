//! The JSON document in which keys are handed out.
use super::{Keys, NoKeys};
use serde::Deserialize;
use std::time::{Duration, SystemTime};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    access_key_id: String,
    secret_access_key: String,
    #[serde(alias = "Token")]
    session_token: Option<String>,
    expiration: Option<jiff02::Timestamp>,
}

/// The keys in a document that `source` gave. Nothing of the document shows in the error.
pub(super) fn parse(json: &[u8], source: &str) -> Result<Keys, NoKeys> {
    let document = serde_json::from_slice(json);
    let Document { access_key_id, secret_access_key, session_token, expiration } =
        document.map_err(|_| NoKeys(format!("{source} gave something other than keys")))?;
    Ok(Keys {
        access_key: access_key_id,
        secret_key: secret_access_key,
        session_token,
        expires: expiration.map(|at| time(at.as_millisecond())),
    })
}

/// A time before 1970 has long passed.
pub(super) fn time(milliseconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(milliseconds).unwrap_or_default())
}
