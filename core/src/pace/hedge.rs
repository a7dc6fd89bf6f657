//! A second request for one that takes unusually long.
use crate::boundary::MonoTime;
use crate::mutant::mutant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// When a request that takes long is made a second time, while the first goes on. Only requests that may be repeated
/// without harm are: reads, and creates of objects whose key is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HedgePolicy {
    /// Second requests for each hundred first ones, at most; 1 to 100. Default 5.
    pub percent: u8,
    /// No second request before the first has taken this long. Default 20 ms.
    pub least: Duration,
}

impl Default for HedgePolicy {
    fn default() -> Self {
        Self { percent: 5, least: Duration::from_millis(20) }
    }
}

/// Durations of one kind of requests, and which of those under way are due for a second one; `K` names what is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hedge<K> {
    policy: Option<HedgePolicy>,
    recent: VecDeque<Duration>,
    /// When those under way began; without those that have a second one.
    begun: BTreeMap<K, MonoTime>,
    /// Those that have one.
    doubled: BTreeSet<K>,
    requests: u64,
    hedges: u64,
}

impl<K: Copy + Ord> Hedge<K> {
    /// Durations that the percentile is taken of.
    const REMEMBERED: usize = 64;
    /// Durations before which nothing is usual.
    const LEAST_KNOWN: usize = 20;

    pub(crate) fn new(policy: Option<HedgePolicy>) -> Self {
        Self {
            policy,
            recent: VecDeque::new(),
            begun: BTreeMap::new(),
            doubled: BTreeSet::new(),
            requests: 0,
            hedges: 0,
        }
    }

    /// Second requests so far.
    pub(crate) fn hedges(&self) -> u64 {
        self.hedges
    }

    /// A first request goes out.
    pub(crate) fn begins(&mut self, asked: K, now: MonoTime) {
        if self.policy.is_some() {
            self.requests += 1;
            self.begun.insert(asked, now);
        }
    }

    /// One of the requests was answered; `is_good`: how long it took says what is usual. Returns whether there are two.
    pub(crate) fn ends(&mut self, asked: K, now: MonoTime, is_good: bool) -> bool {
        if let Some(since) = self.begun.remove(&asked).filter(|_| is_good) {
            if self.recent.len() >= Self::REMEMBERED {
                self.recent.pop_front();
            }
            self.recent.push_back(now.since(since));
        }
        self.doubled.remove(&asked)
    }

    /// What is due for a second request, once.
    pub(crate) fn next_due(&mut self, now: MonoTime) -> Option<K> {
        let after = self.patience()?;
        let asked = *self.begun.iter().find(|(_, since)| since.after(after) <= now)?.0;
        self.begun.remove(&asked);
        Some(asked)
    }

    /// The second request goes out.
    pub(crate) fn doubles(&mut self, asked: K) {
        self.hedges += 1;
        self.doubled.insert(asked);
    }

    /// When [`Hedge::next_due`] has to be asked again.
    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        let after = self.patience()?;
        self.begun.values().min().map(|since| since.after(after))
    }

    /// How long a request may take: the 95th percentile of the recent ones. `None` while nothing may be hedged.
    fn patience(&self) -> Option<Duration> {
        let policy = self.policy?;
        let is_spent = (self.hedges + 1) * 100 > self.requests * u64::from(policy.percent);
        if self.recent.len() < Self::LEAST_KNOWN || (is_spent && !mutant("second requests have no bound")) {
            return None;
        }
        let mut sorted: Vec<Duration> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() * 95 / 100).copied().map(|usual| usual.max(policy.least))
    }
}

#[cfg(test)]
mod tests {
    use super::{Hedge, HedgePolicy};
    use crate::boundary::MonoTime;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u32) -> MonoTime {
        MonoTime(0).after(MS * ms)
    }

    /// Knows that 30 ms are usual.
    fn seasoned(percent: u8) -> Hedge<u64> {
        let mut hedge = Hedge::new(Some(HedgePolicy { percent, least: MS }));
        for op in 0..100 {
            hedge.begins(op, at(0));
            hedge.ends(op, at(30), true);
        }
        hedge
    }

    #[test]
    fn what_takes_longer_than_usual_is_asked_once_more() {
        let mut hedge = seasoned(5);
        hedge.begins(1000, at(100));
        assert_eq!(hedge.deadline(), Some(at(130)));
        assert_eq!(hedge.next_due(at(129)), None);
        assert_eq!((hedge.next_due(at(130)), hedge.next_due(at(999))), (Some(1000), None));
        hedge.doubles(1000);
        assert_eq!((hedge.deadline(), hedge.hedges()), (None, 1));
        assert!(hedge.ends(1000, at(140), true) && !hedge.ends(1000, at(150), true), "there were two");
    }

    #[test]
    fn there_are_never_more_than_the_share() {
        let mut hedge = seasoned(2);
        for op in 1000..1050 {
            hedge.begins(op, at(100));
        }
        while let Some(asked) = hedge.next_due(at(200)) {
            hedge.doubles(asked);
        }
        assert_eq!(hedge.hedges(), 3, "2 of each 100 first requests");
    }

    #[test]
    fn nothing_is_asked_twice_before_it_is_known_what_is_usual_or_without_a_policy() {
        for policy in [None, Some(HedgePolicy { percent: 100, least: MS })] {
            let mut hedge = Hedge::new(policy);
            for op in 0..19 {
                hedge.begins(op, at(0));
                hedge.ends(op, at(1), true);
            }
            hedge.begins(100, at(0));
            assert_eq!((hedge.next_due(at(9999)), hedge.deadline()), (None, None));
        }
    }

    #[test]
    fn failures_do_not_teach_what_is_usual() {
        let mut hedge = Hedge::new(Some(HedgePolicy { percent: 100, least: MS }));
        for op in 0..100 {
            hedge.begins(op, at(0));
            hedge.ends(op, at(1), false);
        }
        hedge.begins(100, at(0));
        assert_eq!(hedge.next_due(at(9999)), None);
    }
}
