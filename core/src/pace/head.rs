//! The pace of writes to one key.
use crate::mutant::mutant;
use std::time::Duration;

/// Least time between two swaps of one head. Some stores take one write a second of a key and throttle the rest, others
/// dozens (providers 1): the pace is learnt from throttles alone, so a store that never throttles is never slowed down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct HeadPace {
    interval: Duration,
}

impl HeadPace {
    const FIRST: Duration = Duration::from_millis(64);
    /// Twice the slowest pace that a provider documents.
    const MOST: Duration = Duration::from_millis(2_048);

    pub(crate) fn interval(self) -> Duration {
        self.interval
    }

    /// The store said that this key is written too often.
    pub(crate) fn throttled(&mut self) {
        if !mutant("a throttle never slows the head") {
            self.interval = (self.interval * 2).clamp(Self::FIRST, Self::MOST);
        }
    }

    /// A swap was answered without a throttle: a little faster, and at full speed once that is less than it began with.
    pub(crate) fn passed(&mut self) {
        self.interval -= self.interval / 64;
        if self.interval < Self::FIRST {
            self.interval = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HeadPace;
    use std::time::Duration;

    /// Commits in a hurry for a while against a store that takes one write in `every`; how many were throttled, and how
    /// many passed.
    fn race(every: Duration, time: Duration) -> (u32, u32) {
        let (mut pace, mut now, mut next) = (HeadPace::default(), Duration::ZERO, Duration::ZERO);
        let (mut throttled, mut passed) = (0, 0);
        while now < time {
            if now >= next {
                passed += 1;
                next = now + every;
                pace.passed();
            } else {
                throttled += 1;
                pace.throttled();
            }
            now += pace.interval().max(Duration::from_millis(5));
        }
        (throttled, passed)
    }

    #[test]
    fn a_store_that_never_throttles_is_never_slowed_down() {
        assert_eq!(race(Duration::ZERO, Duration::from_secs(5)), (0, 1000));
    }

    #[test]
    fn f01_one_write_a_second_is_found_and_kept_with_few_throttles() {
        let (throttled, passed) = race(Duration::from_secs(1), Duration::from_secs(600));
        assert!(passed > 300, "{passed} of 600 commits");
        assert!(throttled < 25, "{throttled} throttles");
    }

    #[test]
    fn a_single_throttle_is_forgotten() {
        let mut pace = HeadPace::default();
        pace.throttled();
        pace.passed();
        assert_eq!(pace.interval(), Duration::ZERO);
    }
}
