//! Why an append ended early, and how far the records are safe.
use super::Start;
use crate::failure::Failure;
use bucketlog_blocking::error::{AppendError, AppendReason, CloseError, HaltCause, Halted, OpenError};
use bucketlog_core::ids::Lsn;

/// The partition could not be claimed.
pub(crate) fn claim_failed(error: OpenError) -> Failure {
    match error {
        OpenError::Claim(cause) => halted(&cause, "nothing was appended", None),
        other => Failure::new("open", other.to_string(), "see the message; nothing was appended"),
    }
}

/// A record was refused; everything before it was accepted and is durable by now.
pub(super) fn record_refused(error: &AppendError, records_before: u64) -> Failure {
    let number = records_before + 1;
    match &error.reason {
        AppendReason::Halted(cause) => halted(cause, &format!("all {records_before} records before it are safe"), None),
        AppendReason::LsnExhausted => {
            let what = format!("record {number} finds the partition full: its last LSN is taken");
            Failure::new("full", what, "append to another partition or stream")
        }
        AppendReason::TimestampOrder { last, found } => {
            let what = format!("record {number} has timestamp {found}, but the log has already reached {last}");
            Failure::new("timestamp_order", what, format!("use --timestamp {last} or later, or leave it out"))
        }
        reason => {
            let what = format!("record {number} was refused: {reason}");
            Failure::new("record", what, "take it out of the input, and append the rest")
        }
    }
}

/// The writer came to its end with records that are not proven durable.
pub(super) fn close_failed(error: &CloseError, start: &Start) -> Failure {
    let end: &Halted = error.0.halted();
    let safe = end.proven.0.saturating_sub(start.next_lsn.0);
    let doubt = if end.maybe > end.proven {
        format!("; those from LSN {} to {} are in doubt", end.proven, end.maybe.0 - 1)
    } else {
        String::new()
    };
    let extent = format!("the first {safe} records of the input are safe, below LSN {}{doubt}", end.proven);
    halted(&end.cause, &extent, Some((end.proven, end.maybe)))
}

fn halted(cause: &HaltCause, extent: &str, bounds: Option<(Lsn, Lsn)>) -> Failure {
    let what = format!("{cause}; {extent}");
    let failure = match cause {
        HaltCause::Superseded { epoch, writer } => Failure::new(
            "fenced",
            what,
            "let that writer go on; append again to take the log back, with the records that are not safe",
        )
        .with("epoch", epoch.to_string())
        .with("writer_id", writer.to_string()),
        HaltCause::Contended { epoch, writer, attempts } => {
            Failure::new("contended", what, "other writers claim the same partition: let one of them write")
                .with("epoch", epoch.to_string())
                .with("writer_id", writer.to_string())
                .with("attempts", *attempts)
        }
        HaltCause::Corrupt { key, error } => Failure::damaged(key, error).with("key", key.to_string()),
        HaltCause::HeadGone { .. } => Failure::new("head_gone", what, "restore the head from a copy"),
        HaltCause::HeadRolledBack { .. } => {
            Failure::new("rolled_back", what, "find out who put the old head back; restore the newest one")
        }
        HaltCause::Unreachable { .. } => {
            Failure::new("unreachable", what, "check the store, then append the records that are not safe")
        }
        HaltCause::ConditionsIgnored { .. } => {
            Failure::new("unfit_store", what, "use another store; `bucketlog doctor` says what is wrong with this one")
        }
        HaltCause::Refused { .. } => Failure::new("refused", what, "check the permissions in the store"),
        _ => Failure::new("halted", what, "append the records that are not safe"),
    };
    match bounds {
        None => failure,
        Some((proven, maybe)) => {
            failure.with("committed_next_lsn", proven.to_string()).with("maybe_next_lsn", maybe.to_string())
        }
    }
}
