//! What a writer tells its caller.
use crate::boundary::Fault;
use crate::format::FormatError;
use crate::format::catalog::TreeError;
use crate::format::segment::{Record, RecordError};
use crate::ids::{Epoch, Generation, Lsn, TimestampMs, WriterId};
use crate::metric::Metric;
use std::sync::Arc;

/// News for the owner of a writer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriterEvent {
    /// The claim holds: records can be appended.
    Opened {
        /// The epoch now owned.
        epoch: Epoch,
        /// Name of this incarnation.
        writer_id: WriterId,
        /// The LSN of the next record.
        next_lsn: Lsn,
    },
    /// The writer took the log over from itself to end an unknown outcome; nothing was lost.
    EpochRenewed {
        /// The epoch now owned.
        epoch: Epoch,
    },
    /// Every record below this LSN is durable.
    Committed {
        /// Exclusive bound.
        next_lsn: Lsn,
    },
    /// An append that was refused as [`AppendReason::Full`] may be tried again.
    Room,
    /// Closed by its caller, everything accepted is durable.
    Closed {
        /// Exclusive bound.
        next_lsn: Lsn,
    },
    /// No more progress is possible.
    Halted(Halted),
    /// A finished piece of work, for monitoring.
    Metric(Metric),
}

/// Where a writer stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The head is being claimed.
    Opening,
    /// Records can be appended.
    Open {
        /// The epoch owned.
        epoch: Epoch,
        /// Name of this incarnation.
        writer_id: WriterId,
    },
    /// Nothing more is accepted; what was accepted is being committed.
    Closing,
    /// Everything accepted is durable.
    Closed,
    /// Stopped for good.
    Halted(Halted),
}

/// How a writer ended, and what that means for each record it accepted.
///
/// A record below `proven` is durable. From `proven` to `maybe` the outcome is unknown: the record may be in the log,
/// or may yet appear. From `maybe` to `accepted` it is definitely not in the log and never will be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{cause} (durable below LSN {proven}, unknown below {maybe}, accepted below {accepted})")]
pub struct Halted {
    /// Why.
    pub cause: HaltCause,
    /// End of what is proven durable.
    pub proven: Lsn,
    /// End of what may be durable; equals `proven` when nothing is in doubt.
    pub maybe: Lsn,
    /// End of what was accepted.
    pub accepted: Lsn,
}

impl Halted {
    /// What became of one accepted record.
    #[must_use]
    pub fn fate(&self, lsn: Lsn) -> Fate {
        if lsn < self.proven {
            Fate::Committed
        } else if lsn < self.maybe {
            Fate::Indeterminate
        } else {
            Fate::NotCommitted
        }
    }
}

/// What became of a record that a halted writer had accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is durable.
    Committed,
    /// It may be durable, or may yet become so.
    Indeterminate,
    /// It is not in the log and never will be under this LSN.
    NotCommitted,
}

/// Why a writer stopped for good.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum HaltCause {
    /// Another writer owns the log.
    #[error("writer {writer} took the log over at epoch {epoch}")]
    Superseded {
        /// The owner's epoch.
        epoch: Epoch,
        /// The owner.
        writer: WriterId,
    },
    /// `open` lost too many races.
    #[error("the claim was lost {attempts} times, last to writer {writer} at epoch {epoch}")]
    Contended {
        /// The owner's epoch.
        epoch: Epoch,
        /// The owner.
        writer: WriterId,
        /// Claims tried.
        attempts: u32,
    },
    /// The store took a write whose condition was false ([`super::WriterOptions::prove_store`]).
    #[error("the store ignores conditions: it took a swap of {key} that it had to refuse; no log is safe there")]
    ConditionsIgnored {
        /// Key of the head.
        key: Arc<str>,
    },
    /// The head was deleted; perhaps somebody has begun the log anew.
    #[error("the head {key} is gone; it is never re-created by a writer, restore it first")]
    HeadGone {
        /// Key of the head.
        key: Arc<str>,
    },
    /// An older state of the head was put back.
    #[error("the head {key} went back from generation {seen} to {found}: an older version was restored")]
    HeadRolledBack {
        /// Key of the head.
        key: Arc<str>,
        /// Highest generation seen.
        seen: Generation,
        /// Generation found.
        found: Generation,
    },
    /// An object is not what it must be.
    #[error("object {key} is damaged: {error}")]
    Corrupt {
        /// Key of the object.
        key: Arc<str>,
        /// The broken rule.
        error: FormatError,
    },
    /// Another object lies under a key that only this writer can have made.
    #[error("object {key} exists with other content: two writers share one identity")]
    KeyCollision {
        /// Key of the object.
        key: Arc<str>,
    },
    /// The head carries this writer's name over commits that it did not make.
    #[error("the head {key} names this writer but holds commits it never made")]
    ForeignCommit {
        /// Key of the head.
        key: Arc<str>,
    },
    /// Retention removed the place where the proof would be.
    #[error("retention moved to LSN {oldest}, past an unresolved commit")]
    RetentionPassed {
        /// Oldest LSN of the log.
        oldest: Lsn,
    },
    /// The store gave no usable answer within the budget.
    #[error("{operation} of {key} failed {attempts} times within the budget: {fault}")]
    Unreachable {
        /// What was tried.
        operation: &'static str,
        /// On which object.
        key: Arc<str>,
        /// Attempts made.
        attempts: u32,
        /// The last failure.
        fault: Fault,
    },
    /// The store refused for good.
    #[error("{operation} of {key} was refused: {fault}")]
    Refused {
        /// What was tried.
        operation: &'static str,
        /// On which object.
        key: Arc<str>,
        /// The refusal.
        fault: Fault,
    },
    /// The catalog can't take another change.
    #[error("the catalog can't grow: {0}")]
    Catalog(TreeError),
    /// A block or segment could not be encoded.
    #[error("a segment could not be encoded: {0}")]
    Encode(FormatError),
    /// The caller aborted the writer.
    #[error("the writer was aborted")]
    Aborted,
}

/// An append that took no effect, with the record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("record not accepted: {reason}")]
pub struct AppendError {
    /// The record, handed back.
    pub record: Record,
    /// Why it was not accepted.
    pub reason: AppendReason,
}

impl AppendError {
    /// Why the writer stopped, where that is the reason.
    #[must_use]
    pub fn halt_cause(&self) -> Option<&HaltCause> {
        self.reason.halt_cause()
    }
}

/// A batch that took no effect, with all its records.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("batch not accepted because of record {index}: {reason}")]
pub struct BatchError {
    /// The records, handed back.
    pub records: Vec<Record>,
    /// Position of the record that was the cause; 0 if the cause lies outside the batch.
    pub index: usize,
    /// Why the batch was not accepted.
    pub reason: AppendReason,
}

impl BatchError {
    /// Why the writer stopped, where that is the reason.
    #[must_use]
    pub fn halt_cause(&self) -> Option<&HaltCause> {
        self.reason.halt_cause()
    }
}

/// Why a record was not accepted. Except for the last three the writer lives on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AppendReason {
    /// Too much is pending; wait for [`WriterEvent::Room`].
    #[error("too much is pending; wait for room")]
    Full,
    /// No segment can hold the record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The record's timestamp lies before the last one's.
    #[error("timestamp {found} lies before the last record's {last}")]
    TimestampOrder {
        /// Timestamp of the last accepted record.
        last: TimestampMs,
        /// Timestamp of this one.
        found: TimestampMs,
    },
    /// The record, or the batch as a whole, is larger than a segment may be by this writer's options.
    #[error(
        "{bytes} raw bytes in {records} records pass the limit of one segment ({max_bytes} bytes, {max_records} records)"
    )]
    TooLarge {
        /// Raw bytes.
        bytes: u64,
        /// Records.
        records: u64,
        /// Limit, raw bytes.
        max_bytes: u64,
        /// Limit, records.
        max_records: u32,
    },
    /// Every LSN of the partition is taken.
    #[error("the partition is full: its last LSN is taken")]
    LsnExhausted,
    /// The claim is not decided yet.
    #[error("the writer is not open yet")]
    NotOpen,
    /// The writer is closing or closed.
    #[error("the writer is closed")]
    Closed,
    /// The writer halted.
    #[error("{0}")]
    Halted(Box<HaltCause>),
}

impl AppendReason {
    /// Why the writer stopped, where that is the reason.
    #[must_use]
    pub fn halt_cause(&self) -> Option<&HaltCause> {
        match self {
            Self::Halted(cause) => Some(cause),
            _ => None,
        }
    }
}

/// How far records have come; each bound is exclusive, and `accepted >= cut >= uploaded >= committed` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watermarks {
    /// Records that have an LSN.
    pub accepted: Lsn,
    /// Records in segments that are closed.
    pub cut: Lsn,
    /// Records in segments that are stored; falls back to `committed` when the writer takes over from itself.
    pub uploaded: Lsn,
    /// Records that are durable.
    pub committed: Lsn,
}

/// Counters of one writer since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct WriterStats {
    /// Head swaps that won, claims not included.
    pub commits: u64,
    /// Segments committed.
    pub segments: u64,
    /// Outcomes of swaps that were unknown at first.
    pub doubts: u64,
    /// Times that the writer took over from itself.
    pub self_takeovers: u64,
    /// Requests that the store refused because there were too many.
    pub throttles: u64,
    /// Creates that were sent a second time because the first took unusually long ([`super::WriterOptions::hedge`]).
    pub hedges: u64,
    /// Answers that came too late or twice and were ignored.
    pub late_answers: u64,
}
