//! Many threads on one key.
use super::Races;
use super::case::{Case, NO_VERSION, done, lost};
use bucketlog_core::boundary::{ByteRange, Fault, SwapCondition, Version};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const INCREMENTS: u64 = 5;

/// Runs `work` on every thread at once and gives their results.
fn race<T: Send>(racers: usize, work: impl Fn(usize) -> Result<T, String> + Sync) -> Result<Vec<T>, String> {
    let start = Barrier::new(racers);
    let run = |n| {
        start.wait();
        work(n)
    };
    let run = &run;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..racers).map(|n| scope.spawn(move || run(n))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
            .collect()
    })
}

/// What a racer knows of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Won,
    Lost,
    /// Some stores answer a server's error to losers.
    Unknown,
}

impl Outcome {
    fn of<T>(result: Result<T, Fault>) -> Result<Self, String> {
        match result {
            Ok(_) => Ok(Self::Won),
            Err(fault) if lost(&fault) => Ok(Self::Lost),
            Err(Fault::Indeterminate(_)) => Ok(Self::Unknown),
            Err(fault) => Err(format!("a racer's write: {fault}")),
        }
    }
}

/// Every racer writes its own [`state`] to `name` at once: exactly one write takes place.
fn one_winner(case: &Case<'_>, name: &str, write: impl Fn(usize) -> Result<(), Fault> + Sync) -> Result<(), String> {
    let outcomes = race(case.races().racers, |n| Outcome::of(write(n)))?;
    let told = outcomes.iter().filter(|outcome| **outcome == Outcome::Won).count();
    if told > 1 {
        return Err(format!("{told} of {} racing writers were told that they won", outcomes.len()));
    }
    let found = done("read", case.read(name, ByteRange::All))?;
    let winner = (0..outcomes.len()).find(|n| found.body == state(*n));
    match winner.map(|n| outcomes[n]) {
        Some(Outcome::Won) => Ok(()),
        Some(Outcome::Unknown) if told == 0 => Ok(()),
        Some(outcome) => Err(format!("the object is what a racer wrote whose outcome is {outcome:?}, of {outcomes:?}")),
        None => Err("the object is not what any racer wrote".to_owned()),
    }
}

pub(super) fn racing_creates_have_one_winner(case: &Case<'_>) -> Result<(), String> {
    (0..case.races().rounds).try_for_each(|round| {
        let name = format!("round-{round}");
        one_winner(case, &name, |n| case.create(&name, &state(n)))
    })
}

pub(super) fn swap_races_have_one_winner(case: &Case<'_>) -> Result<(), String> {
    done("swap", case.swap("a", SwapCondition::Absent, b"between"))?;
    (0..case.races().rounds).try_for_each(|_| {
        let condition = SwapCondition::Matches(case.version("a")?);
        one_winner(case, "a", |n| case.swap("a", condition.clone(), &state(n)).map(drop))?;
        // A store may name states by their content, and the next round's must differ from this one's.
        done("swap", case.swap("a", SwapCondition::Matches(case.version("a")?), b"between")).map(drop)
    })
}

pub(super) fn racing_swaps_lose_no_update(case: &Case<'_>) -> Result<(), String> {
    let Races { racers, .. } = case.races();
    let updates = racers as u64 * INCREMENTS;
    done("swap", case.swap("counter", SwapCondition::Absent, b"0"))?;
    // A loss means that another thread won, or a conflict that tells nothing: a thread that loses so often never wins.
    race(racers, |_| (0..INCREMENTS).try_for_each(|_| increment(case, 10 * updates)))?;
    case.holds("counter", updates.to_string().as_bytes()).map(drop)
}

fn increment(case: &Case<'_>, attempts: u64) -> Result<(), String> {
    for _ in 0..attempts {
        let (count, version) = counter(case)?;
        match case.swap("counter", SwapCondition::Matches(version), (count + 1).to_string().as_bytes()) {
            Err(fault) if lost(&fault) => {}
            other => return done("swap", other).map(drop),
        }
    }
    Err(format!("a thread lost {attempts} times in a row"))
}

fn counter(case: &Case<'_>) -> Result<(u64, Version), String> {
    let found = done("read", case.read("counter", ByteRange::All))?;
    let count = std::str::from_utf8(&found.body).ok().and_then(|text| text.parse().ok());
    let count = count.ok_or_else(|| format!("the counter holds {:?}", found.body))?;
    Ok((count, found.version.ok_or(NO_VERSION)?))
}

pub(super) fn reads_are_never_torn(case: &Case<'_>) -> Result<(), String> {
    let mut version = case.swapped("a", SwapCondition::Absent, &state(0))?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = || {
            while !over.load(Ordering::Relaxed) {
                whole_state(case)?;
            }
            Ok(())
        };
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(reader)).collect();
        let writes = (1..64).try_for_each(|n| {
            version = case.swapped("a", SwapCondition::Matches(version.clone()), &state(n))?;
            Ok(())
        });
        over.store(true, Ordering::Relaxed);
        let reads = readers.into_iter().map(|reader| reader.join().unwrap_or(Err("a reader panicked".to_owned())));
        reads.chain([writes]).collect()
    })
}

/// One number over and over; the length tells it too, and versions of unequal states differ.
fn state(n: usize) -> Vec<u8> {
    let byte = u8::try_from(n).unwrap_or(u8::MAX);
    vec![byte; 8_000 + n]
}

fn whole_state(case: &Case<'_>) -> Result<(), String> {
    let found = done("read", case.read("a", ByteRange::All))?;
    let n = found.body.len().checked_sub(8_000).ok_or_else(|| format!("a state of {} bytes", found.body.len()))?;
    if found.body != state(n) || found.total_size != found.body.len() as u64 {
        return Err("a read gave parts of two states".to_owned());
    }
    Ok(())
}
