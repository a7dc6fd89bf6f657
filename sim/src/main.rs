//! `bucketlog-sim`: tries the shipped machines in a bad world, and shows what happened.
mod report;

use bucketlog_sim::action::Action;
use bucketlog_sim::check::Violation;
use bucketlog_sim::check::history::History;
use bucketlog_sim::crash;
use bucketlog_sim::exhaust::exhaust;
use bucketlog_sim::news::News;
use bucketlog_sim::run::{Recording, seeded};
use bucketlog_sim::setup::{Knob, Weights};
use bucketlog_sim::stats::Stats;
use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Tries bucketlog's shipped writer and reader against a bucket that loses answers, delays requests and lets them land
/// late, while processes crash, freeze and fence each other.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Seeded runs.
    Run(RunArgs),
    /// Every run of a few steps from a prepared state.
    Exhaust(ExhaustArgs),
    /// A crash after every step of a script, with every subset of the writes in flight applied.
    Crashes {
        /// A recorded run.
        file: PathBuf,
    },
    /// Lives through a recorded run again and shows what happens.
    Replay {
        /// A recorded run.
        file: PathBuf,
        /// Only the verdict.
        #[arg(long)]
        quiet: bool,
        /// Where to store what users saw, one JSON object a line, for a checker of one's own.
        #[arg(long)]
        history: Option<PathBuf>,
    },
    /// Tries broken variants of the protocol, each of which some run must catch; needs the feature `mutants`.
    Mutants {
        /// Runs tried for each.
        #[arg(long, default_value_t = 12_000)]
        seeds: u64,
        /// Stores the seed that catches each, for the test to begin with.
        #[arg(long, num_args = 0..=1, default_missing_value = "sim/pins.txt")]
        pin: Option<PathBuf>,
    },
    /// Makes a failing recorded run as short as possible and prints it.
    Minimise {
        /// A recorded run.
        file: PathBuf,
    },
}

#[derive(Args)]
struct RunArgs {
    /// Seeds, `FROM..TO` or one number.
    #[arg(long, default_value = "0..10000", value_parser = seeds)]
    seeds: Range<u64>,
    /// Steps of each run; a step is one choice.
    #[arg(long, default_value_t = 600)]
    steps: u64,
    /// Faults that may occur: `all`, `none`, or words of recorded runs, separated by commas.
    #[arg(long, default_value = "all")]
    faults: String,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Where to store a failing run.
    #[arg(long, default_value = "failure.txt")]
    save: PathBuf,
    /// Shows every event; for a single seed.
    #[arg(long)]
    trace: bool,
}

#[derive(Args)]
struct ExhaustArgs {
    /// Prepared states: recorded runs whose end is the beginning.
    #[arg(required = true)]
    prepared: Vec<PathBuf>,
    /// Steps from there.
    #[arg(long, default_value_t = 5)]
    depth: u32,
    /// Faults and moves that may occur, as for `run`.
    #[arg(long, default_value = "lost,astray,dropped,409,crash,start-writer")]
    faults: String,
    /// Distinct states at most, for each prepared state.
    #[arg(long, default_value_t = 1_000_000)]
    states: u64,
    /// Where to store a failing run.
    #[arg(long, default_value = "failure.txt")]
    save: PathBuf,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str| text.replace('_', "").parse::<u64>().map_err(|error| format!("{text}: {error}"));
    match text.split_once("..") {
        Some((from, to)) => Ok(number(from)?..number(to)?),
        None => number(text).map(|seed| seed..seed + 1),
    }
}

/// Which knobs the words of `--faults` switch on.
fn allowed(words: &str) -> Result<impl Fn(Knob) -> bool + Copy + Sync + use<>, String> {
    let known = |word: &&str| Knob::all().any(|knob| knob.word() == *word);
    if let Some(odd) = words.split(',').find(|word| !matches!(*word, "all" | "none") && !known(word)) {
        let all: Vec<_> = Knob::all().filter(|knob| knob.is_fault()).map(Knob::word).collect();
        return Err(format!("{odd:?} is no fault; there are: all, none, {}", all.join(", ")));
    }
    let mut bits = 0_u64;
    for (i, knob) in Knob::all().enumerate() {
        let is_on = words.split(',').any(|word| word == "all" || word == knob.word());
        bits |= u64::from(is_on) << i;
    }
    Ok(move |knob: Knob| Knob::all().position(|other| other == knob).is_some_and(|i| bits >> i & 1 == 1))
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bucketlog-sim: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether no rule was broken.
fn run(command: Command) -> Result<bool, Box<dyn Error>> {
    match command {
        Command::Run(args) if args.trace => trace_seed(&args),
        Command::Run(args) => run_seeds(&args),
        Command::Exhaust(args) => run_exhaust(&args),
        Command::Crashes { file } => run_crashes(&file),
        Command::Replay { file, quiet, history } => {
            let recording = read(&file)?;
            if let Some(path) = history {
                save_history(&recording, &path)?;
            }
            let outcome = if quiet { recording.replay(&mut |_, _| {}) } else { report::trace(&recording) };
            Ok(report::verdict(&outcome))
        }
        Command::Mutants { seeds, pin } => run_mutants(seeds, pin.as_deref()),
        Command::Minimise { file } => {
            let small = read(&file)?.minimised();
            print!("{small}");
            Ok(report::verdict(&small.replay(&mut |_, _| {})))
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn read(file: &Path) -> Result<Recording, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    text.parse().map_err(|error| format!("{}: {error}", file.display()).into())
}

fn save_history(recording: &Recording, file: &Path) -> Result<(), Box<dyn Error>> {
    let mut seen = History::default();
    recording.replay(&mut |_, news| seen.add(news));
    std::fs::write(file, seen.to_jsonl()).map_err(|error| format!("{}: {error}", file.display()).into())
}

fn trace_seed(args: &RunArgs) -> Result<bool, Box<dyn Error>> {
    let (recording, _) = seeded(args.seeds.start, args.steps, allowed(&args.faults)?, &mut |_, _| {});
    Ok(report::verdict(&report::trace(&recording)))
}

fn run_seeds(args: &RunArgs) -> Result<bool, Box<dyn Error>> {
    let allowed = allowed(&args.faults)?;
    let jobs = if args.jobs == 0 { cores() } else { args.jobs };
    let (next, steps, failed) = (AtomicU64::new(args.seeds.start), AtomicU64::new(0), AtomicBool::new(false));
    let (total, failure) = (Mutex::new(Stats::default()), Mutex::new(None));
    let bar = ProgressBar::new(args.seeds.end.saturating_sub(args.seeds.start));
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left")?);
    let begin = Instant::now();
    let work = || {
        let mut stats = Stats::default();
        while !failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= args.seeds.end {
                break;
            }
            let mut watch = |_: Option<Action>, news: &[News]| stats.add(news);
            let (recording, outcome) = seeded(seed, args.steps, allowed, &mut watch);
            steps.fetch_add(outcome.steps, Ordering::Relaxed);
            bar.inc(1);
            if let Some(violation) = outcome.violation {
                failed.store(true, Ordering::Relaxed);
                failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).replace((seed, recording, violation));
            }
        }
        total.lock().unwrap_or_else(std::sync::PoisonError::into_inner).merge(&stats);
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    report::summary(&*total.lock().map_err(|error| error.to_string())?, steps.into_inner(), begin.elapsed());
    match failure.into_inner()? {
        None => Ok(true),
        Some((seed, recording, violation)) => {
            println!("seed {seed} breaks a rule");
            save_failure(&args.save, &recording, &violation)
        }
    }
}

/// Stores a failing run, made small, and says how to look at it.
fn save_failure(file: &Path, recording: &Recording, violation: &Violation) -> Result<bool, Box<dyn Error>> {
    let small = recording.minimised();
    std::fs::write(file, format!("# {violation}\n{small}"))?;
    println!("{violation}\n\n{small}\nto replay:  bucketlog-sim replay {}", file.display());
    Ok(false)
}

fn run_exhaust(args: &ExhaustArgs) -> Result<bool, Box<dyn Error>> {
    let allowed = allowed(&args.faults)?;
    let mut weights = Weights::calm();
    for knob in Knob::all().filter(|knob| knob.is_fault()) {
        weights.set(knob, u32::from(allowed(knob)));
    }
    let mut rows = Vec::new();
    for file in &args.prepared {
        let begin = Instant::now();
        let found = exhaust(&read(file)?, &weights, args.depth, args.states);
        rows.push((file.display().to_string(), found.clone(), begin.elapsed()));
        if let Some((recording, violation)) = found.failure {
            report::searches(&rows);
            return save_failure(&args.save, &recording, &violation);
        }
    }
    report::searches(&rows);
    Ok(true)
}

#[cfg(feature = "mutants")]
fn run_mutants(seeds: u64, pin: Option<&Path>) -> Result<bool, Box<dyn Error>> {
    use bucketlog_sim::mutants::{MUTANTS, Pins, try_all};
    // What a variant that panics has to say stands in the table.
    std::panic::set_hook(Box::new(|_| {}));
    let bar = ProgressBar::new(MUTANTS.len() as u64);
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} variants, {eta} left")?);
    let pins = if pin.is_some() { Pins::default() } else { Pins::kept() };
    let verdicts = try_all(seeds, &pins, cores(), &|| bar.inc(1));
    bar.finish_and_clear();
    report::mutants(&verdicts);
    if let Some(file) = pin {
        std::fs::write(file, Pins::text(&verdicts)).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(verdicts.iter().all(|(_, verdict)| verdict.caught.is_some()))
}

#[cfg(not(feature = "mutants"))]
fn run_mutants(_: u64, _: Option<&Path>) -> Result<bool, Box<dyn Error>> {
    Err("this build has no broken variants: use cargo run --release -p bucketlog-sim --features mutants -- mutants"
        .into())
}

fn run_crashes(file: &Path) -> Result<bool, Box<dyn Error>> {
    match crash::enumerate(&read(file)?) {
        Ok(rows) => {
            report::crashes(&rows);
            Ok(true)
        }
        Err(failure) => {
            println!("{}\n\n{}", failure.violation, failure.recording);
            Ok(false)
        }
    }
}
