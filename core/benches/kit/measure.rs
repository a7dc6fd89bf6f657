//! Taking time.
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::Duration;

/// What time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time this thread was running: for work of one thread, blind to other processes' share of the cores.
    Thread,
    /// Time all threads of this process were running.
    Process,
    /// Time on the wall.
    Wall,
}

impl Clock {
    fn now(self) -> Duration {
        let id = match self {
            Self::Thread => ClockId::ThreadCPUTime,
            Self::Process => ClockId::ProcessCPUTime,
            Self::Wall => ClockId::Monotonic,
        };
        Duration::try_from(clock_gettime(id)).expect("clocks don't run before zero")
    }

    /// How long `work` takes, its result's end included.
    pub fn time<T>(self, work: impl FnOnce() -> T) -> Duration {
        let begin = self.now();
        drop(black_box(work()));
        self.now().checked_sub(begin).unwrap()
    }
}

/// A figure and its floor, medians over all rounds.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub floor: Duration,
    pub ours: Duration,
    /// Time of the figure in times of the floor: the median of the rounds' ratios.
    pub slowdown: f64,
}

/// Measures both in turns.
pub fn pair<A, B>(clock: Clock, rounds: usize, mut floor: impl FnMut() -> A, mut ours: impl FnMut() -> B) -> Pair {
    pair_with(rounds, || (clock.time(&mut floor), clock.time(&mut ours)))
}

/// The medians of rounds that measure themselves, as (floor, figure). The first round only warms up.
pub fn pair_with(rounds: usize, mut round: impl FnMut() -> (Duration, Duration)) -> Pair {
    round();
    let times: Vec<(Duration, Duration)> = (0..rounds).map(|_| round()).collect();
    Pair {
        floor: median(times.iter().map(|(floor, _)| *floor)),
        ours: median(times.iter().map(|(_, ours)| *ours)),
        slowdown: median(times.iter().map(|(floor, ours)| Ordered(ours.as_secs_f64() / floor.as_secs_f64()))).0,
    }
}

/// The middle one; of two the lower.
pub fn median<T: Ord>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort();
    let middle = (values.len() - 1) / 2;
    values.swap_remove(middle)
}

struct Ordered(f64);

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
