//! Seeded runs: a range of seeds, or as many as a time allows.
use super::{Kept, cores, json, report};
use crate::{RunArgs, Runs, SoakArgs, allowed};
use bucketlog_sim::action::Action;
use bucketlog_sim::check::Violation;
use bucketlog_sim::news::News;
use bucketlog_sim::run::{Outcome, Recording, Watch, seeded, seeded_from};
use bucketlog_sim::setup::Knob;
use bucketlog_sim::stats::Stats;
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What many runs came to.
pub(super) struct Sum {
    pub(super) from: u64,
    pub(super) runs: u64,
    pub(super) steps: u64,
    pub(super) time: Duration,
    pub(super) stats: Stats,
    failure: Option<(u64, Recording, Violation)>,
}

/// Lives through the run of one seed and shows every event.
pub(crate) fn trace(args: &RunArgs) -> Result<bool, Box<dyn Error>> {
    let (scenario, allowed) = (scenario(&args.runs)?, allowed(&args.runs.faults)?);
    let (recording, _) = begin(scenario.as_ref(), args.seeds.start, args.runs.steps, allowed, &mut |_, _| {});
    let holds = report::verdict(&report::trace(&recording));
    println!("to replay:  {}", command_of(args.seeds.start, &args.runs));
    Ok(holds)
}

pub(crate) fn run(args: &RunArgs) -> Result<bool, Box<dyn Error>> {
    let bar = ProgressBar::new(args.seeds.end.saturating_sub(args.seeds.start));
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left")?);
    let sum = drive(args.seeds.clone(), None, &args.runs, &bar)?;
    conclude(sum, &args.runs)
}

pub(crate) fn soak(args: &SoakArgs) -> Result<bool, Box<dyn Error>> {
    // Whole seconds, a million seeds apart: two soaks share no seed unless they run at the same time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let from = args.from.unwrap_or(now.saturating_mul(1_000_000));
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{elapsed_precise} {pos} runs, {per_sec}, from seed {msg}")?);
    bar.set_message(from.to_string());
    let until = Instant::now() + Duration::from_secs(args.minutes.saturating_mul(60));
    let sum = drive(from..u64::MAX, Some(until), &args.runs, &bar)?;
    conclude(sum, &args.runs)
}

fn drive(seeds: Range<u64>, until: Option<Instant>, runs: &Runs, bar: &ProgressBar) -> Result<Sum, Box<dyn Error>> {
    let (scenario, allowed) = (scenario(runs)?, allowed(&runs.faults)?);
    let (next, steps, done) = (AtomicU64::new(seeds.start), AtomicU64::new(0), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    let (total, failure) = (Mutex::new(Stats::default()), Mutex::new(None));
    let begin = Instant::now();
    let work = || {
        let mut stats = Stats::default();
        while !is_over.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            let (recording, outcome) = one(scenario.as_ref(), seed, runs.steps, allowed, &mut stats);
            steps.fetch_add(outcome.0, Ordering::Relaxed);
            done.fetch_add(1, Ordering::Relaxed);
            bar.inc(1);
            if let Some(violation) = outcome.1 {
                is_over.store(true, Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).replace((seed, recording, violation));
            }
        }
        total.lock().unwrap_or_else(PoisonError::into_inner).merge(&stats);
    };
    let jobs = if runs.jobs == 0 { cores() } else { runs.jobs };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    Ok(Sum {
        from: seeds.start,
        runs: done.into_inner(),
        steps: steps.into_inner(),
        time: begin.elapsed(),
        stats: total.into_inner().unwrap_or_else(PoisonError::into_inner),
        failure: failure.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

/// The recorded run that runs begin with.
fn scenario(runs: &Runs) -> Result<Option<Recording>, Box<dyn Error>> {
    let Some(path) = &runs.scenario else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Some(text.parse().map_err(|error| format!("{}: {error}", path.display()))?))
}

fn begin(
    scenario: Option<&Recording>,
    seed: u64,
    steps: u64,
    allowed: impl Fn(Knob) -> bool,
    watch: Watch<'_>,
) -> (Recording, Outcome) {
    match scenario {
        Some(scenario) => seeded_from(scenario, seed, steps, allowed, watch),
        None => seeded(seed, steps, allowed, watch),
    }
}

/// One run: its steps, and the rule that it broke.
fn one(
    scenario: Option<&Recording>,
    seed: u64,
    steps: u64,
    allowed: impl Fn(Knob) -> bool,
    stats: &mut Stats,
) -> (Recording, (u64, Option<Violation>)) {
    let mut watch = |_: Option<Action>, news: &[News]| stats.add(news);
    let (recording, outcome) = begin(scenario, seed, steps, allowed, &mut watch);
    (recording, (outcome.steps, outcome.violation))
}

/// Tells what came of the runs, and keeps the one that broke a rule.
fn conclude(mut sum: Sum, runs: &Runs) -> Result<bool, Box<dyn Error>> {
    let failure = sum.failure.take();
    let seed = failure.as_ref().map_or(sum.from, |(seed, ..)| *seed);
    let kept = failure.map(|(_, recording, violation)| Kept::keep(&runs.save, &recording, violation)).transpose()?;
    let again = command_of(seed, runs);
    if runs.json {
        println!("{}", json::runs(&sum, kept.as_ref().map(|kept| (seed, kept)), &again));
        return Ok(kept.is_none());
    }
    report::summary(&sum.stats, sum.steps, sum.time);
    println!("{} runs from seed {}", sum.runs, sum.from);
    match &kept {
        Some(kept) => {
            println!("seed {seed} breaks a rule; the whole run:  {again}");
            kept.show();
        }
        None => println!("to see a run:  {again}"),
    }
    Ok(kept.is_none())
}

fn command_of(seed: u64, runs: &Runs) -> String {
    let scenario = runs.scenario.as_ref().map_or_else(String::new, |path| format!("--scenario {} ", path.display()));
    format!("bucketlog-sim run --seeds {seed} --steps {} {scenario}--faults {} --trace", runs.steps, runs.faults)
}
