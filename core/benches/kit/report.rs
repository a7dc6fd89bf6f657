//! The table of results.
use super::measure::Pair;
use std::time::Duration;

/// What was asked for on the command line.
#[derive(Debug)]
pub struct Report {
    only: Vec<String>,
    json: bool,
    has_missed: bool,
}

/// What a number has to be.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(least) => format!(">= {least}"),
            Self::AtMost(most) => format!("<= {most}"),
        }
    }
}

impl Report {
    /// Arguments are names of benches to run (default: all), and `--json` for one JSON object a line.
    #[expect(clippy::allow_attributes, reason = "the lint below exists only in the core")]
    pub fn from_args() -> Self {
        #[allow(clippy::disallowed_methods, reason = "a program's entrance reads its arguments")]
        let args: Vec<String> = std::env::args().skip(1).collect();
        let only = args.iter().filter(|arg| !arg.starts_with("--")).cloned().collect();
        let report = Self { only, json: args.iter().any(|arg| arg == "--json"), has_missed: false };
        if !report.json {
            println!("{:<44} {:>13} {:>13} {:>10} {:>9}", "figure", "measured", "floor", "value", "target");
        }
        report
    }

    /// Whether a bench is asked for; some run only when they are named.
    pub fn wants(&self, bench: &str, by_default: bool) -> bool {
        if self.only.is_empty() { by_default } else { self.only.iter().any(|only| only == bench) }
    }

    /// Speed over `bytes`, as a part of the floor's.
    pub fn speed(&mut self, figure: &str, bytes: usize, pair: Pair, least: f64) {
        let speed = |time: Duration| format!("{:.0} MB/s", per_second(bytes, time) / 1e6);
        self.row(figure, &speed(pair.ours), &speed(pair.floor), 1.0 / pair.slowdown, Target::AtLeast(least));
    }

    /// Time of one of `count` operations, in times of the floor's.
    pub fn slowdown(&mut self, figure: &str, count: u32, pair: Pair, most: f64) {
        let (ours, floor) = (micros(pair.ours / count), micros(pair.floor / count));
        self.row(figure, &ours, &floor, pair.slowdown, Target::AtMost(most));
    }

    /// Time of one of `count` operations, at most `most` microseconds; the floor is shown beside it.
    pub fn time(&mut self, figure: &str, count: u32, pair: Pair, most: f64) {
        let (ours, floor) = (pair.ours / count, pair.floor / count);
        self.row(figure, &micros(ours), &micros(floor), ours.as_secs_f64() * 1e6, Target::AtMost(most));
    }

    /// One line of the table.
    pub fn row(&mut self, figure: &str, measured: &str, floor: &str, value: f64, target: Target) {
        let verdict = if target.is_met(value) { "pass" } else { "MISS" };
        self.has_missed |= !target.is_met(value);
        let target = target.text();
        if self.json {
            println!(
                r#"{{"figure":"{figure}","measured":"{measured}","floor":"{floor}","value":{value:.4},"target":"{target}","verdict":"{verdict}"}}"#
            );
        } else {
            println!("{figure:<44} {measured:>13} {floor:>13} {value:>10.3} {target:>9}  {verdict}");
        }
    }

    /// A closing line where something was missed.
    pub fn finish(self) {
        if self.has_missed && !self.json {
            println!("Some figures miss their targets; on a busy machine run them again by name before believing it.");
        }
    }
}

/// How many of `count` pass in a second.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
pub fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn micros(time: Duration) -> String {
    format!("{:.2} us", time.as_secs_f64() * 1e6)
}
