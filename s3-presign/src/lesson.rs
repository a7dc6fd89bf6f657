//! What an answer teaches about the next signature.
use crate::HttpAnswer;
use crate::classify::{Meaning, Operation, meaning};
use bucketlog_core::ids::TimestampMs;

/// What to change before the next attempt is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// The store's clock is this many milliseconds ahead of the one here; negative if it is behind.
    ClockOffset(i64),
    /// The keys have ended.
    KeysEnded,
}

impl Lesson {
    /// What there is to learn from an answer that came at `now` by the clock here. A clock is only ever corrected when the
    /// store complains of it.
    #[must_use]
    pub fn of(answer: &HttpAnswer, now: TimestampMs) -> Option<Self> {
        if answer.is_success() {
            return None;
        }
        let code = answer.error()?.code?;
        if meaning(Operation::Read, answer.status, &code) != Meaning::SignAnew {
            return None;
        }
        match code.as_str() {
            "ExpiredToken" | "TokenRefreshRequired" => Some(Self::KeysEnded),
            _ => answer.time("date").map(|theirs| Self::ClockOffset(theirs.0.saturating_sub(now.0))),
        }
    }
}
