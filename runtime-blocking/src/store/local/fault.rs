//! Meanings of IO errors: which step failed decides more than the error itself.
use super::super::rules;
use bucketlog_core::boundary::{Fault, RefusalKind};
use std::io::{self, ErrorKind};
use std::time::Instant;

/// Before the commit point: nothing of the attempt is visible.
pub(super) fn before_commit(step: &str, error: &io::Error) -> Fault {
    refused(step, error).unwrap_or_else(|| Fault::not_sent(message(step, error)))
}

/// At the commit point: definite if the system turned the call down, else nobody knows.
pub(super) fn at_commit(step: &str, error: &io::Error) -> Fault {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::NotFound => {
            Fault::not_sent(message(step, error))
        }
        _ => refused(step, error).unwrap_or_else(|| after_commit(step, error)),
    }
}

/// After the commit point: visible, but perhaps not durable.
pub(super) fn after_commit(step: &str, error: &io::Error) -> Fault {
    Fault::indeterminate(message(step, error))
}

/// While reading, which changes nothing.
pub(super) fn reading(step: &str, error: &io::Error) -> Fault {
    match error.kind() {
        _ if names_no_object(error) => rules::not_found(),
        _ => refused(step, error).unwrap_or_else(|| Fault::indeterminate(message(step, error))),
    }
}

/// While reading the state that a swap replaces: before the commit point, and without an object there is no swap.
pub(super) fn comparing(step: &str, error: &io::Error) -> Fault {
    if names_no_object(error) { rules::not_found() } else { before_commit(step, error) }
}

/// Whether there is nothing, or no regular file, under a path.
pub(super) fn names_no_object(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

/// No step is begun that the caller no longer waits for.
pub(super) fn check_deadline(until: Instant) -> Result<(), Fault> {
    if Instant::now() < until { Ok(()) } else { Err(Fault::not_sent("the deadline passed before the next step")) }
}

fn refused(step: &str, error: &io::Error) -> Option<Fault> {
    let kind = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => RefusalKind::Denied,
        ErrorKind::InvalidFilename
        | ErrorKind::InvalidInput
        | ErrorKind::FileTooLarge
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory => RefusalKind::Invalid,
        ErrorKind::CrossesDevices | ErrorKind::Unsupported => RefusalKind::Unsupported,
        _ => return None,
    };
    Some(Fault::refused(kind, message(step, error)))
}

fn message(step: &str, error: &io::Error) -> String {
    format!("{step}: {error}")
}
