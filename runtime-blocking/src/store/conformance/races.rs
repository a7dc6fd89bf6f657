//! Many threads on one key.
use super::case::{Case, done, equal, lost};
use bucketlog_core::boundary::{ByteRange, SwapCondition, Version};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const THREADS: usize = 16;
const INCREMENTS: u64 = 5;
/// A loss means that another thread won, or a conflict that tells nothing: a thread that loses this often never wins.
const ATTEMPTS: u64 = 10 * THREADS as u64 * INCREMENTS;

/// Runs `work` on every thread at once and gives their results.
fn race<T: Send>(work: impl Fn(usize) -> Result<T, String> + Sync) -> Result<Vec<T>, String> {
    let start = Barrier::new(THREADS);
    let run = |n| {
        start.wait();
        work(n)
    };
    let run = &run;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || run(n))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
            .collect()
    })
}

pub(super) fn racing_creates_have_one_winner(case: &Case<'_>) -> Result<(), String> {
    for round in 0..8 {
        let name = format!("round-{round}");
        let won = race(|n| match case.create(&name, &state(n)) {
            Ok(()) => Ok(true),
            Err(fault) if lost(&fault) => Ok(false),
            Err(fault) => Err(format!("create: {fault}")),
        })?;
        let winners: Vec<usize> = (0..THREADS).filter(|n| won[*n]).collect();
        equal("winners", &winners.len(), &1)?;
        case.holds(&name, &state(winners[0]))?;
    }
    Ok(())
}

pub(super) fn racing_swaps_lose_no_update(case: &Case<'_>) -> Result<(), String> {
    done("swap", case.swap("counter", SwapCondition::Absent, b"0"))?;
    race(|_| (0..INCREMENTS).try_for_each(|_| increment(case)))?;
    case.holds("counter", (THREADS as u64 * INCREMENTS).to_string().as_bytes()).map(drop)
}

fn increment(case: &Case<'_>) -> Result<(), String> {
    for _ in 0..ATTEMPTS {
        let (count, version) = counter(case)?;
        match case.swap("counter", SwapCondition::Matches(version), (count + 1).to_string().as_bytes()) {
            Err(fault) if lost(&fault) => {}
            other => return done("swap", other).map(drop),
        }
    }
    Err(format!("a thread lost {ATTEMPTS} times in a row"))
}

fn counter(case: &Case<'_>) -> Result<(u64, Version), String> {
    let found = done("read", case.read("counter", ByteRange::All))?;
    let count = std::str::from_utf8(&found.body).ok().and_then(|text| text.parse().ok());
    let count = count.ok_or_else(|| format!("the counter holds {:?}", found.body))?;
    Ok((count, found.version.ok_or("a whole read of a small object tells no version")?))
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
