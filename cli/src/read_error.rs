//! Why a read failed, for `read`, `head` and `demo`.
use crate::failure::Failure;
use bucketlog_blocking::error::{EntropyError, ReadError};

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let what = error.to_string();
        match error {
            ReadError::Expired { requested, oldest, next } => {
                Self::new("expired", what, format!("read from LSN {oldest} or later"))
                    .with("requested", requested.to_string())
                    .with("oldest_lsn", oldest.to_string())
                    .with("next_lsn", next.to_string())
            }
            ReadError::NotYet { requested, next } => {
                Self::new("not_yet", what, format!("read from LSN {next} or earlier, or wait for it to be written"))
                    .with("requested", requested.to_string())
                    .with("next_lsn", next.to_string())
            }
            ReadError::Corrupt { key, error } => Self::damaged(key.as_str(), &error).with("key", key.to_string()),
            ReadError::HeadGone { key } => {
                Self::new("head_gone", what, "find out who deleted the head; restore the newest one from a copy")
                    .with("key", key.to_string())
            }
            ReadError::RolledBack { .. } => {
                Self::new("rolled_back", what, "find out who put the old head back; restore the newest one")
            }
            ReadError::Unreachable { key, .. } => {
                Self::new("unreachable", what, "check the store and try again").with("key", key.to_string())
            }
            ReadError::Refused { key, .. } => {
                Self::new("refused", what, "check the permissions in the store").with("key", key.to_string())
            }
            _ => Self::new("read", what, "see the message"),
        }
    }
}

impl From<EntropyError> for Failure {
    fn from(error: EntropyError) -> Self {
        Self::new("entropy", error.to_string(), "run where the system gives random bytes")
    }
}
