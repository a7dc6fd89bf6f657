//! What each command does.
mod json;
pub(crate) mod replays;
mod report;
pub(crate) mod searches;
pub(crate) mod seeded;
pub(crate) mod variants;

use bucketlog_sim::check::Violation;
use bucketlog_sim::run::Recording;
use std::error::Error;
use std::path::Path;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn read(file: &Path) -> Result<Recording, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    text.parse().map_err(|error| format!("{}: {error}", file.display()).into())
}

fn write(file: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// A run that broke a rule, made short and stored.
struct Kept {
    violation: Violation,
    short: Recording,
    /// What to type to see it again.
    replay: String,
}

impl Kept {
    fn keep(file: &Path, recording: &Recording, violation: Violation) -> Result<Self, Box<dyn Error>> {
        let short = recording.minimised();
        write(file, &format!("# {violation}\n{short}"))?;
        Ok(Self { violation, short, replay: format!("bucketlog-sim replay {}", file.display()) })
    }

    fn show(&self) {
        println!("{}\n\n{}\nto replay:  {}", self.violation, self.short, self.replay);
    }
}
