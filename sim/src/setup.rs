//! What a run begins with: the store's kind, the writers' options, who may take part, and how heavy each fault is.
use crate::action::{Call, How, Turn};
use crate::choice::Random;
use crate::store::Versions;
use bucketlog_core::backoff::Backoff;
use bucketlog_core::format::catalog::CatalogLayout;
use bucketlog_core::format::segment::Codec;
use bucketlog_core::pace::HedgePolicy;
use bucketlog_core::reader::ReaderOptions;
use bucketlog_core::writer::{BatchPolicy, PartPolicy, PendingLimits, TimestampPolicy, WriterOptions};
use std::fmt;
use std::time::Duration;

/// Longer than any run: whoever gives up within it gave up for no reason.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Parts of a few records; the smallest segment has 464 bytes.
const PARTS: PartPolicy = PartPolicy { threshold_bytes: 500, part_bytes: 300, parallel: 2 };
/// One request in ten may have a twin.
const HEDGE: HedgePolicy = HedgePolicy { percent: 10, least: Duration::from_millis(1) };
/// Requests of a reader for what is loaded ahead.
pub(crate) const MAX_AHEAD: usize = 1;
/// Where budgets end: two requests without an answer, or some twenty refusals.
const WRITER_BUDGET: Duration = Duration::from_secs(1);
/// Where budgets end: two requests without an answer.
const READER_BUDGET: Duration = Duration::from_secs(20);

const COMMIT_INTERVAL: Duration = Duration::from_millis(500);
const MAX_AGE: Duration = Duration::from_secs(1);

/// What is the same for a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// How the store names versions.
    pub versions: Versions,
    /// One byte that stands for the options of all writers and readers; its bits are read by [`Setup::writer`],
    /// [`Setup::reader`] and [`Setup::tells_versions`].
    pub tuning: u8,
    /// A second byte of options, read by [`Setup::budgets_end`] and [`Setup::writer`].
    pub temper: u8,
    /// A third byte of options: whether large segments go up in tiny parts, slow requests are sent twice, and the store
    /// takes one write a second of a key.
    pub haste: u8,
    /// Processes at most, dead ones included.
    pub processes: u8,
    /// Records that each writer is asked to take, at most.
    pub appends: u8,
}

impl Setup {
    /// A set-up drawn from `random`.
    #[must_use]
    pub fn draw(random: &mut Random) -> Self {
        let [versions, tuning, processes, appends, temper, haste, ..] = random.next_u64().to_le_bytes();
        Self {
            versions: if versions & 1 == 0 { Versions::Unique } else { Versions::ContentHash },
            tuning,
            temper,
            haste,
            processes: 2 + processes % 7,
            appends: 4 + appends % 60,
        }
    }

    fn bits(self, from: u8, count: u8) -> u8 {
        self.tuning >> from & ((1 << count) - 1)
    }

    /// Whether the time of writers and readers is bounded: in one of eight set-ups.
    #[must_use]
    pub fn budgets_end(self) -> bool {
        self.temper & 7 == 7
    }

    /// Whether the answers to writes name the new version: in three of four set-ups.
    #[must_use]
    pub fn tells_versions(self) -> bool {
        self.bits(6, 2) != 3
    }

    /// Whether the store takes one write a second of the head from each process, as some stores do of each key; in an
    /// eighth of the set-ups.
    #[must_use]
    pub fn is_paced(self) -> bool {
        self.haste >> 3 & 7 == 7
    }

    /// Second requests for what takes long, in hundredths of the first ones; in a quarter of the set-ups, else none.
    #[must_use]
    pub fn hedge(self) -> Option<HedgePolicy> {
        (self.haste & 6 == 6).then_some(HEDGE)
    }

    /// Whether a writer has the store refuse two swaps before it opens; in a quarter of the set-ups.
    #[must_use]
    pub fn proves_store(self) -> bool {
        matches!(self.temper >> 5, 4 | 7)
    }

    /// Least time between two commits; in a quarter of the set-ups.
    fn commit_interval(self) -> Duration {
        if matches!(self.temper >> 5, 5 | 7) { COMMIT_INTERVAL } else { Duration::ZERO }
    }

    /// Age at which a batch is cut by itself; in a quarter of the set-ups.
    fn max_age(self) -> Option<Duration> {
        matches!(self.temper >> 5, 6 | 7).then_some(MAX_AGE)
    }

    /// Races that a claim may lose; bounded in half of the set-ups.
    fn claim_attempts(self) -> u32 {
        match self.temper >> 3 & 3 {
            3 => 1,
            2 => 2,
            _ => u32::MAX,
        }
    }

    /// The writers' options.
    #[must_use]
    pub fn writer(self) -> WriterOptions {
        WriterOptions {
            codec: Codec::None,
            block_bytes: 64,
            batch: BatchPolicy {
                max_records: if self.bits(0, 1) == 0 { 2 } else { 64 },
                max_age: self.max_age(),
                max_bytes: 1 << 20,
                ..BatchPolicy::default()
            },
            pending: PendingLimits { max_batches: 2, ..PendingLimits::default() },
            timestamps: if self.bits(1, 1) == 0 { TimestampPolicy::Clamp } else { TimestampPolicy::Reject },
            layout: CatalogLayout { leaf_limit: 2, index_limit: 2, ..CatalogLayout::default() },
            parallel_uploads: 1 + u32::from(self.bits(2, 1)),
            max_group: if self.bits(3, 1) == 0 { 8 } else { 1 },
            backoff: Backoff { base: Duration::from_millis(10), max: Duration::from_millis(80) },
            self_takeover_after: u32::from(self.bits(4, 2)),
            budget: if self.budgets_end() { WRITER_BUDGET } else { FOR_EVER },
            claim_attempts: self.claim_attempts(),
            prove_store: self.proves_store(),
            commit_interval: self.commit_interval(),
            parts: (self.haste & 1 == 1).then_some(PARTS),
            hedge: self.hedge(),
            ..WriterOptions::default()
        }
    }

    /// The readers' options.
    #[must_use]
    pub fn reader(self) -> ReaderOptions {
        ReaderOptions {
            whole_segment_max: if self.bits(0, 1) == 0 { 1 << 20 } else { 0 },
            prefetch_count: 1 + usize::from(self.bits(2, 2)),
            max_ahead: MAX_AHEAD,
            hedge: self.hedge(),
            budget: if self.budgets_end() { READER_BUDGET } else { FOR_EVER },
            backoff: Backoff { base: Duration::from_millis(10), max: Duration::from_millis(80) },
            ..ReaderOptions::default()
        }
    }
}

impl fmt::Display for Setup {
    /// As in the first line of a recorded run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = match self.versions {
            Versions::Unique => "unique",
            Versions::ContentHash => "content",
        };
        let Self { tuning, temper, haste, processes, appends, .. } = self;
        write!(
            f,
            "versions={versions} tuning={tuning} temper={temper} haste={haste} processes={processes} appends={appends}"
        )
    }
}

impl std::str::FromStr for Setup {
    type Err = SetupError;

    fn from_str(text: &str) -> Result<Self, SetupError> {
        let mut setup = Self { versions: Versions::Unique, tuning: 0, temper: 0, haste: 0, processes: 4, appends: 16 };
        for word in text.split_whitespace() {
            let error = || SetupError { word: word.to_owned() };
            let (name, value) = word.split_once('=').ok_or_else(error)?;
            match (name, value, value.parse()) {
                ("versions", "unique", _) => setup.versions = Versions::Unique,
                ("versions", "content", _) => setup.versions = Versions::ContentHash,
                ("tuning", _, Ok(number)) => setup.tuning = number,
                ("temper", _, Ok(number)) => setup.temper = number,
                ("haste", _, Ok(number)) => setup.haste = number,
                ("processes", _, Ok(number)) => setup.processes = number,
                ("appends", _, Ok(number)) => setup.appends = number,
                _ => return Err(error()),
            }
        }
        Ok(setup)
    }
}

/// A word of a set-up that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is no part of a set-up")]
pub struct SetupError {
    word: String,
}

/// How likely each kind of step is, relative to the others. Swarm testing: each run draws its own weights and leaves
/// many faults out, because a run with all faults at once never gets anywhere deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    calls: [u32; Call::ALL.len()],
    hows: [u32; How::ALL.len()],
    turns: [u32; Turn::ALL.len()],
}

impl Weights {
    /// Every step with the same weight.
    #[must_use]
    pub fn even() -> Self {
        Self { calls: [1; Call::ALL.len()], hows: [1; How::ALL.len()], turns: [1; Turn::ALL.len()] }
    }

    /// Steps of a world without faults, drawn from nothing.
    #[must_use]
    pub fn calm() -> Self {
        let mut weights = Self { calls: [0; Call::ALL.len()], hows: [0; How::ALL.len()], turns: [0; Turn::ALL.len()] };
        let calls = [(Call::Append, 8), (Call::Batch, 3), (Call::Cut, 8), (Call::Want, 3)];
        let reads = [(Call::Read, 4), (Call::Latest, 2), (Call::Cached, 2)];
        let lookups = [(Call::Fetch, 1), (Call::FindTime, 1), (Call::ReadTime, 1)];
        for (call, weight) in calls.into_iter().chain(reads).chain(lookups) {
            weights.set(Knob::Call(call), weight);
        }
        weights.set(Knob::How(How::Done), 40);
        for (turn, weight) in [(Turn::Tick, 16), (Turn::StartWriter, 1), (Turn::StartReader, 1)] {
            weights.set(Knob::Turn(turn), weight);
        }
        weights
    }

    /// Weights of one run: every fault that `allowed` lets through is off, light or heavy.
    pub fn swarm(random: &mut Random, allowed: impl Fn(Knob) -> bool) -> Self {
        let mut weights = Self::calm();
        for knob in Knob::all().filter(|knob| knob.is_fault() && allowed(*knob)) {
            let light = knob.light();
            let weight = match random.below(if knob.is_fatal() { 32 } else { 8 }) {
                0..=2 => light,
                3 => 3 * light,
                4 => 10 * light,
                _ => 0,
            };
            weights.set(knob, weight.max(weights.of(knob)));
        }
        weights
    }

    /// Changes one weight.
    pub fn set(&mut self, knob: Knob, weight: u32) {
        match knob {
            Knob::Call(call) => self.calls[call as usize] = weight,
            Knob::How(how) => self.hows[how as usize] = weight,
            Knob::Turn(turn) => self.turns[turn as usize] = weight,
        }
    }

    /// The weight of one kind of step.
    #[must_use]
    pub fn of(&self, knob: Knob) -> u32 {
        match knob {
            Knob::Call(call) => self.calls[call as usize],
            Knob::How(how) => self.hows[how as usize],
            Knob::Turn(turn) => self.turns[turn as usize],
        }
    }
}

/// A kind of step that can be switched and weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// A call of a user.
    Call(Call),
    /// A fate of a request.
    How(How),
    /// A move of the world.
    Turn(Turn),
}

impl Knob {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let hows = How::ALL.iter().map(|how| Self::How(*how));
        let turns = Turn::ALL.iter().map(|turn| Self::Turn(*turn));
        Call::ALL.iter().map(|call| Self::Call(*call)).chain(hows).chain(turns)
    }

    /// Its word in recorded runs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Call(call) => call.word(),
            Self::How(how) => how.word(),
            Self::Turn(turn) => turn.word(),
        }
    }

    /// Whether a world without it is still a working one.
    #[must_use]
    pub fn is_fault(self) -> bool {
        match self {
            Self::Call(call) => matches!(call, Call::Close | Call::Abort),
            Self::How(how) => how != How::Done,
            Self::Turn(turn) => turn != Turn::Tick,
        }
    }

    /// Whether it ends a process more often than not: seldom on, or no run would get far.
    fn is_fatal(self) -> bool {
        match self {
            Self::Call(_) | Self::How(How::Short | How::Flipped) => true,
            Self::How(_) => false,
            Self::Turn(turn) => matches!(turn, Turn::Restore | Turn::Delete | Turn::Crash),
        }
    }

    /// The weight of a light dose.
    fn light(self) -> u32 {
        match self {
            Self::Turn(Turn::Thaw | Turn::Land) => 6,
            Self::How(How::Short | How::Flipped) | Self::Call(_) | Self::Turn(_) => 1,
            Self::How(_) => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_up_survives_its_text() {
        for seed in 0..50 {
            let setup = Setup::draw(&mut Random::new(seed));
            assert_eq!(setup.to_string().parse(), Ok(setup));
            setup.writer().validate().unwrap();
        }
        assert!("tuning=x".parse::<Setup>().is_err());
    }

    #[test]
    fn a_swarm_leaves_out_what_is_not_allowed() {
        let only = |knob| knob == Knob::How(How::Lost);
        for seed in 0..50 {
            let weights = Weights::swarm(&mut Random::new(seed), only);
            let faults = Knob::all().filter(|knob| knob.is_fault() && weights.of(*knob) > 0);
            let odd: Vec<_> = faults.filter(|knob| !only(*knob) && !knob.word().starts_with("start")).collect();
            assert!(odd.is_empty(), "{odd:?}");
        }
    }
}
