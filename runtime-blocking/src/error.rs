//! What the handles may answer.
pub use crate::entropy::EntropyError;
pub use crate::initialize::{InitializeError, InitializePartitionError};
use bucketlog_core::ids::Lsn;
pub use bucketlog_core::reader::ReadError;
pub use bucketlog_core::writer::{AppendError, AppendReason, BatchError, Fate, HaltCause, Halted, OptionsError};

/// Why a partition could not be opened for writing.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An option outside its range.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// Without random bytes a writer can't name itself.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The claim failed.
    #[error("the partition could not be claimed: {0}")]
    Claim(HaltCause),
}

impl OpenError {
    /// Why the writer stopped, where that is the reason.
    #[must_use]
    pub fn halt_cause(&self) -> Option<&HaltCause> {
        match self {
            Self::Claim(cause) => Some(cause),
            _ => None,
        }
    }
}

/// Why accepted records are not known to be durable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DurabilityError {
    /// They may be durable, or may yet become so.
    #[error("it is unknown whether they are durable: {0}")]
    Indeterminate(Halted),
    /// They, or the last of them, are not in the log and never will be under their LSNs.
    #[error("not committed: {0}")]
    NotCommitted(Halted),
}

impl DurabilityError {
    /// The end of a writer, as seen by the records below `end`.
    pub(crate) fn new(halted: Halted, end: Lsn) -> Self {
        if end <= halted.maybe { Self::Indeterminate(halted) } else { Self::NotCommitted(halted) }
    }

    /// How the writer ended.
    #[must_use]
    pub fn halted(&self) -> &Halted {
        match self {
            Self::Indeterminate(halted) | Self::NotCommitted(halted) => halted,
        }
    }

    /// Why the writer stopped.
    #[must_use]
    pub fn halt_cause(&self) -> &HaltCause {
        &self.halted().cause
    }
}

/// Why an append did not end in a durable record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendDurableError {
    /// The record was not accepted and comes back.
    #[error(transparent)]
    NotAccepted(#[from] AppendError),
    /// The record was accepted.
    #[error("record {lsn}: {error}")]
    NotDurable {
        /// Its LSN.
        lsn: Lsn,
        /// What is known of it.
        error: DurabilityError,
    },
}

impl AppendDurableError {
    /// Why the writer stopped, where that is the reason.
    #[must_use]
    pub fn halt_cause(&self) -> Option<&HaltCause> {
        match self {
            Self::NotAccepted(error) => error.halt_cause(),
            Self::NotDurable { error, .. } => Some(error.halt_cause()),
        }
    }
}

/// Why a flush did not end with everything durable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct FlushError(#[from] pub DurabilityError);

/// Why a writer was closed without everything durable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct CloseError(#[from] pub DurabilityError);

/// The writer is gone: its committed watermark will not pass the value waited for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the writer ended with LSN {committed} as the committed watermark{}", because(cause.as_ref()))]
pub struct WatchEnded {
    /// The last value.
    pub committed: Lsn,
    /// Why it ended; `None` if it was closed.
    pub cause: Option<HaltCause>,
}

fn because(cause: Option<&HaltCause>) -> String {
    cause.map_or_else(String::new, |cause| format!(": {cause}"))
}
