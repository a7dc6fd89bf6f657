//! What an answer teaches about the next signature.
use crate::HttpAnswer;
use crate::classify::{Meaning, Operation, meaning, region};
use bucketlog_core::ids::TimestampMs;

/// What to change before the next attempt is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// The store's clock is this many milliseconds ahead of the one here; negative if it is behind.
    ClockOffset(i64),
    /// The keys have ended.
    KeysEnded,
    /// The bucket lies in this region; a redirect means that another endpoint serves it, too.
    Region {
        /// Name of the region.
        name: String,
        /// Whether the request went to the wrong endpoint, beside being signed for the wrong region.
        is_redirect: bool,
    },
}

impl Lesson {
    /// What there is to learn from an answer that came at `now` by the clock here. A clock is only ever corrected when the
    /// store complains of it.
    #[must_use]
    pub fn of(answer: &HttpAnswer, now: TimestampMs) -> Option<Self> {
        if answer.is_success() {
            return None;
        }
        let document = answer.error().unwrap_or_default();
        let code = document.code.as_deref().unwrap_or_default();
        match (meaning(Operation::Read, answer.status, code), code) {
            (Meaning::SignAnew, "ExpiredToken" | "TokenRefreshRequired") => Some(Self::KeysEnded),
            (Meaning::SignAnew, _) => {
                answer.time("date").map(|theirs| Self::ClockOffset(theirs.0.saturating_sub(now.0)))
            }
            (Meaning::Elsewhere, _) => {
                let name = region(answer, &document).filter(|name| is_name(name))?.to_owned();
                Some(Self::Region { name, is_redirect: answer.status < 400 })
            }
            _ => None,
        }
    }
}

/// It becomes a part of a host name.
fn is_name(region: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&region.len()) && region.bytes().all(is_part)
}
