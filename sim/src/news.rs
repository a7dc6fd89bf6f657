//! What a step let happen, seen from outside: the input of statistics, traces and histories.
use crate::action::{How, Kind};
use crate::value::Value;
use bucketlog_core::boundary::Key;
use bucketlog_core::ids::{Epoch, Lsn};
use bucketlog_core::writer::HaltCause;
use std::fmt;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum News {
    /// A process sent a request.
    Sent {
        /// The process.
        site: u8,
        /// What kind of request.
        kind: Kind,
        /// What it is about.
        about: Key,
    },
    /// A request reached the store.
    Reached {
        /// Whose.
        site: u8,
        /// What kind of request.
        kind: Kind,
        /// Whether it came after its sender had given it up.
        late: bool,
        /// Whether the store did it.
        accepted: bool,
    },
    /// A request met its fate.
    Fate {
        /// Whose.
        site: u8,
        /// What kind of request.
        kind: Kind,
        /// Its fate.
        how: How,
    },
    /// A writer took a record.
    Accepted {
        /// The writer.
        site: u8,
        /// The record's position.
        lsn: Lsn,
        /// The record.
        value: Value,
    },
    /// A writer refused a record.
    Declined {
        /// The writer.
        site: u8,
    },
    /// A writer owns the log.
    Opened {
        /// The writer.
        site: u8,
        /// Its epoch.
        epoch: Epoch,
        /// Where its records begin.
        next_lsn: Lsn,
    },
    /// A writer took over from itself.
    Renewed {
        /// The writer.
        site: u8,
        /// Its new epoch.
        epoch: Epoch,
    },
    /// A writer reports records as durable.
    Committed {
        /// The writer.
        site: u8,
        /// End of what is durable.
        next_lsn: Lsn,
    },
    /// A writer ended gracefully.
    Closed {
        /// The writer.
        site: u8,
    },
    /// A writer stopped for good.
    Halted {
        /// The writer.
        site: u8,
        /// Why.
        cause: HaltCause,
        /// End of what is proven.
        proven: Lsn,
        /// End of what is possible.
        maybe: Lsn,
        /// End of what was accepted.
        accepted: Lsn,
    },
    /// A user asked a reader.
    Asked {
        /// The reader.
        site: u8,
    },
    /// A reader answered.
    Read {
        /// The reader.
        site: u8,
        /// Which of the reader's calls, counted from 0.
        call: usize,
        /// Where the batch began.
        from: Lsn,
        /// Where it ended.
        next_lsn: Lsn,
        /// The end of the log that it saw.
        tail: Lsn,
        /// Chained hash of all records below `tail`, if it read that far from the beginning.
        hash: Option<u64>,
        /// Whether the call asked for the state of the log at some moment of the call.
        is_latest: bool,
    },
    /// A reader failed.
    ReadFailed {
        /// The reader.
        site: u8,
        /// Why.
        error: String,
    },
    /// A reader looked one record up.
    Found {
        /// The reader.
        site: u8,
        /// Where it lies, if there is one.
        lsn: Option<Lsn>,
    },
    /// An initialiser goes on.
    Initializing {
        /// The initialiser.
        site: u8,
        /// Where the log would begin.
        next_lsn: Lsn,
    },
    /// An initialiser is done.
    Initialized {
        /// The initialiser.
        site: u8,
        /// Whether the head is its own.
        created: bool,
        /// Where the log would begin.
        next_lsn: Lsn,
    },
    /// An initialiser failed.
    InitializeFailed {
        /// The initialiser.
        site: u8,
        /// Why.
        error: String,
    },
    /// A row of the rule book applied.
    Rule(&'static str),
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent { site, kind, about } => write!(f, "{site} > {kind} {about}"),
            Self::Reached { site, kind, late, accepted } => {
                let verdict = if *accepted { "done" } else { "refused" };
                write!(f, "{site} * {kind} {verdict}{}", if *late { ", late" } else { "" })
            }
            Self::Fate { site, kind, how } => write!(f, "{site} < {kind} {how}"),
            Self::Accepted { site, lsn, value } => write!(f, "{site} + {value} at {lsn}"),
            Self::Declined { site } => write!(f, "{site} - record declined"),
            Self::Opened { site, epoch, next_lsn } => write!(f, "{site} ! opened epoch {epoch} at {next_lsn}"),
            Self::Renewed { site, epoch } => write!(f, "{site} ! renewed as epoch {epoch}"),
            Self::Committed { site, next_lsn } => write!(f, "{site} ! committed below {next_lsn}"),
            Self::Closed { site } => write!(f, "{site} ! closed"),
            Self::Halted { site, cause, proven, maybe, accepted } => {
                write!(f, "{site} ! halted at {proven}/{maybe}/{accepted}: {cause}")
            }
            Self::Asked { site } => write!(f, "{site} ? read"),
            Self::Read { site, from, next_lsn, tail, .. } => write!(f, "{site} ! read {from}..{next_lsn} of {tail}"),
            Self::ReadFailed { site, error } => write!(f, "{site} ! read failed: {error}"),
            Self::Found { site, lsn: Some(lsn) } => write!(f, "{site} ! found {lsn}"),
            Self::Found { site, lsn: None } => write!(f, "{site} ! found nothing"),
            Self::Initializing { site, next_lsn } => write!(f, "{site} ? create the log at {next_lsn}"),
            Self::Initialized { site, created: true, .. } => write!(f, "{site} ! created the log"),
            Self::Initialized { site, created: false, .. } => write!(f, "{site} ! found a log"),
            Self::InitializeFailed { site, error } => write!(f, "{site} ! creating failed: {error}"),
            Self::Rule(rule) => write!(f, "  = {rule}"),
        }
    }
}
