//! `bucketlog-sim`: tries the shipped machines in a bad world, and shows what happened.
mod command;

use bucketlog_sim::setup::Knob;
use clap::{Args, Parser, Subcommand};
use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

/// Tries bucketlog's shipped writer, reader and initialiser against a bucket that loses answers, delays requests and
/// lets them land late, while processes crash, freeze and fence each other.
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
    /// Seeded runs with seeds that were never tried, until the time is up or a rule is broken.
    Soak(SoakArgs),
    /// Every run of a few steps from a prepared state.
    Exhaust(ExhaustArgs),
    /// A crash after every step of a script, with every subset of the writes in flight applied.
    Crashes {
        /// A recorded run.
        file: PathBuf,
        /// Where to store a failing run.
        #[arg(long, default_value = "failure.txt")]
        save: PathBuf,
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
    Mutants(MutantsArgs),
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
    #[command(flatten)]
    runs: Runs,
    /// Shows every event; for a single seed.
    #[arg(long)]
    trace: bool,
}

#[derive(Args)]
struct SoakArgs {
    /// How long, minutes.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// The first seed; drawn from the time of day if it is not given.
    #[arg(long)]
    from: Option<u64>,
    #[command(flatten)]
    runs: Runs,
}

/// What is the same for all seeded runs.
#[derive(Args)]
struct Runs {
    /// Steps of each run; a step is one choice.
    #[arg(long, default_value_t = 600)]
    steps: u64,
    /// A recorded run at whose end each run begins, as those of `sim/prepared`; by default an empty bucket.
    #[arg(long)]
    scenario: Option<PathBuf>,
    /// Faults that may occur: `all`, `none`, or words of recorded runs, separated by commas.
    #[arg(long, default_value = "all")]
    faults: String,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Where to store a failing run, made short.
    #[arg(long, default_value = "failure.txt")]
    save: PathBuf,
    /// The summary as one JSON object.
    #[arg(long)]
    json: bool,
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
    /// The summary as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct MutantsArgs {
    /// Runs tried for each.
    #[arg(long, default_value_t = 12_000)]
    seeds: u64,
    /// Stores the seed that catches each, for the test to begin with.
    #[arg(long, num_args = 0..=1, default_missing_value = "sim/pins.txt")]
    pin: Option<PathBuf>,
    /// Shows the run that catches one variant, made short.
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
    /// The summary as one JSON object.
    #[arg(long)]
    json: bool,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str| text.replace('_', "").parse::<u64>().map_err(|error| format!("{text}: {error}"));
    match text.split_once("..") {
        Some((from, to)) => Ok(number(from)?..number(to)?),
        None => number(text).map(|seed| seed..seed.saturating_add(1)),
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
        Command::Run(args) if args.trace => command::seeded::trace(&args),
        Command::Run(args) => command::seeded::run(&args),
        Command::Soak(args) => command::seeded::soak(&args),
        Command::Exhaust(args) => command::searches::exhaust(&args),
        Command::Crashes { file, save } => command::searches::crashes(&file, &save),
        Command::Replay { file, quiet, history } => command::replays::replay(&file, quiet, history.as_deref()),
        Command::Mutants(args) => command::variants::run(&args),
        Command::Minimise { file } => command::replays::minimise(&file),
    }
}
