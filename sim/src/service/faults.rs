//! How often each fault happens.
use crate::action::{How, Kind};
use crate::choice::Random;
use std::time::Duration;

/// How often each fault happens: per 1,000 requests that it can happen to. Together they should stay below 1,000; what
/// exceeds it does not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Any request: done, but the answer is lost.
    pub lost: u16,
    /// A write: its sender is told that nothing is known. One in four never lands, the others do later.
    pub astray: u16,
    /// A write that goes astray lands before one of so many later requests; at least 1.
    pub lands_within: u16,
    /// Any request: it never left.
    pub not_sent: u16,
    /// A write: refused as 409.
    pub conflict: u16,
    /// Any request: refused as 503 without a hint.
    pub throttled: u16,
    /// Any request: refused as 429 with a Retry-After.
    pub retry_after_sent: u16,
    /// That Retry-After.
    pub retry_after: Duration,
    /// A write that the store would refuse: status 500 instead.
    pub server_error: u16,
    /// A read: half of the bytes. Most programs can only give up on damaged bytes.
    pub short: u16,
    /// A read: a flipped bit.
    pub flipped: u16,
    /// A read of an object that was swapped: the state before the last swap. No store that a log may use does that;
    /// writers and readers must refuse to go on.
    pub old_head: u16,
}

impl Default for Faults {
    /// All that a store which keeps its word may do, to about one request in four.
    fn default() -> Self {
        Self {
            lost: 50,
            astray: 60,
            lands_within: 12,
            not_sent: 40,
            conflict: 30,
            throttled: 40,
            retry_after_sent: 20,
            retry_after: Duration::from_millis(1),
            server_error: 200,
            ..Self::none()
        }
    }
}

impl Faults {
    /// A store without faults.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            lost: 0,
            astray: 0,
            lands_within: 1,
            not_sent: 0,
            conflict: 0,
            throttled: 0,
            retry_after_sent: 0,
            retry_after: Duration::ZERO,
            server_error: 0,
            short: 0,
            flipped: 0,
            old_head: 0,
        }
    }

    pub(super) fn draw(&self, random: &mut Random, kind: Kind, would_be_refused: bool) -> How {
        let write = |share: u16| if kind.is_write() { share } else { 0 };
        let read = |share: u16| if kind == Kind::Get { share } else { 0 };
        let shares = [
            (How::Lost, self.lost),
            (How::Astray, write(self.astray)),
            (How::NotSent, self.not_sent),
            (How::Conflict, write(self.conflict)),
            (How::Throttled, self.throttled),
            (How::RetryAfter, self.retry_after_sent),
            (How::ServerError, if would_be_refused { self.server_error } else { 0 }),
            (How::Short, read(self.short)),
            (How::Flipped, read(self.flipped)),
        ];
        let mut drawn = random.below(1_000);
        for (how, share) in shares {
            match drawn.checked_sub(share.into()) {
                Some(rest) => drawn = rest,
                None => return how,
            }
        }
        How::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_and_reads_never_go_astray() {
        let faults = Faults { lost: 100, astray: 200, short: 50, ..Faults::none() };
        let mut random = Random::new(3);
        let mut count = |kind, wanted| (0..10_000).filter(|_| faults.draw(&mut random, kind, false) == wanted).count();
        assert!((800..1_200).contains(&count(Kind::Swap, How::Lost)));
        assert!((1_700..2_300).contains(&count(Kind::Swap, How::Astray)));
        assert!((300..700).contains(&count(Kind::Get, How::Short)));
        assert_eq!(count(Kind::Get, How::Astray) + count(Kind::Swap, How::Short), 0);
    }
}
