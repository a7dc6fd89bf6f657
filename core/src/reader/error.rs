//! Why a read has no answer.
use crate::boundary::{Fault, Key};
use crate::format::FormatError;
use crate::ids::{Generation, Lsn};

/// Why a call of a [`Reader`](super::Reader) failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Retention has passed the position asked for.
    #[error("LSN {requested} has expired: the log begins at {oldest}")]
    Expired {
        /// Position asked for.
        requested: Lsn,
        /// First record still in the log.
        oldest: Lsn,
        /// Position after the last committed record.
        next: Lsn,
    },
    /// No record has this LSN yet.
    #[error("LSN {requested} is not written yet: the log ends before {next}")]
    NotYet {
        /// Position asked for.
        requested: Lsn,
        /// Position after the last committed record.
        next: Lsn,
    },
    /// The head was there and is gone.
    #[error("the head {key} is gone")]
    HeadGone {
        /// The head.
        key: Key,
    },
    /// An object's bytes are not what they must be, or the object is not there although the log refers to it
    /// ([`FormatErrorKind::Missing`](crate::format::FormatErrorKind::Missing)).
    #[error("{key} is corrupt: {error}")]
    Corrupt {
        /// The object.
        key: Key,
        /// The broken rule, its section and byte offset.
        error: FormatError,
    },
    /// The head in the store is older than one that this reader has seen: somebody put an old copy back.
    #[error("the head was rolled back from generation {seen} to {found}")]
    RolledBack {
        /// Highest generation seen.
        seen: Generation,
        /// Generation now in the store.
        found: Generation,
    },
    /// The call's budget of time is spent and the store still has not answered.
    #[error("{key} is out of reach after {attempts} attempts: {fault}")]
    Unreachable {
        /// The object that was waited for.
        key: Key,
        /// Requests sent for it.
        attempts: u32,
        /// What became of the last one.
        fault: Fault,
    },
    /// The store refuses the request for good: missing permission, unsupported operation, invalid request.
    #[error("the store refuses to read {key}: {fault}")]
    Refused {
        /// The object.
        key: Key,
        /// What the store said.
        fault: Fault,
    },
}

impl ReadError {
    /// Whether a look at the newest head may lead elsewhere: retention, for one, replaces and removes objects.
    pub(super) fn may_be_outdated(&self) -> bool {
        matches!(self, Self::HeadGone { .. } | Self::Corrupt { .. })
    }
}
