//! A trial's run as text.
use super::step::{Step, StepError};
use crate::setup::{Setup, SetupError};
use std::fmt;
use std::str::FromStr;

/// What a run began with and what happened: enough to live through it again, with the same programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialRecording {
    /// What the run begins with.
    pub setup: Setup,
    /// Its steps; those that are impossible when their turn comes are skipped.
    pub steps: Vec<Step>,
    /// Whether faults end after the last step and the world is brought to rest.
    pub quiesce: bool,
}

impl fmt::Display for TrialRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "setup {}", self.setup)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))?;
        if self.quiesce { writeln!(f, "quiesce") } else { Ok(()) }
    }
}

/// A text that is no recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrialRecordingError {
    /// It does not begin with a set-up.
    #[error("the first line is not `setup ...`")]
    NoSetup,
    /// Its set-up has a word that means nothing.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A line is no step.
    #[error(transparent)]
    Step(#[from] StepError),
}

impl FromStr for TrialRecording {
    type Err = TrialRecordingError;

    /// Empty lines and lines that begin with `#` mean nothing.
    fn from_str(text: &str) -> Result<Self, TrialRecordingError> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let setup = lines.next().and_then(|line| line.strip_prefix("setup")).ok_or(TrialRecordingError::NoSetup)?;
        let mut recording = Self { setup: setup.parse()?, steps: Vec::new(), quiesce: false };
        for line in lines {
            match line {
                "quiesce" => recording.quiesce = true,
                _ => recording.steps.push(line.parse()?),
            }
        }
        Ok(recording)
    }
}
