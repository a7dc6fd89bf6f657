//! A run that broke a rule, as it is shown to people.
use super::recording::TrialRecording;
use crate::check::Violation;
use std::fmt;

/// Names the seed to run alone.
pub(super) const SEED: &str = "BUCKETLOG_SEED";

/// A run that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The seed that led to it; `None` for a replay.
    pub seed: Option<u64>,
    /// The rule, and what was found.
    pub violation: Violation,
    /// A short run that breaks the same rule.
    pub recording: TrialRecording,
    /// Steps before the run was made short.
    pub steps: usize,
    /// The short run with everything that happened in it; it reads as a [`TrialRecording`], too.
    pub trace: String,
    /// Test that the run belongs to, if the current thread is a test's.
    pub(super) test: Option<String>,
}

const LEGEND: &str = "\
# after a step, for node N:
#   N > sent a request      N < its fate      N * it landed late
#   N ! was told            N x M: a message was lost";

impl Failure {
    /// What to type to see it again.
    fn again(&self) -> Option<String> {
        let seed = self.seed?;
        Some(match &self.test {
            Some(test) => format!("{SEED}={seed} cargo test {test} -- --exact --nocapture"),
            None => format!("the same command with {SEED}={seed} in its environment"),
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            Some(seed) => writeln!(f, "seed {seed} breaks a rule: {}\n", self.violation)?,
            None => writeln!(f, "the recorded run breaks a rule: {}\n", self.violation)?,
        }
        let (short, steps) = (self.recording.steps.len(), self.steps);
        writeln!(f, "a run that does so, {short} of {steps} steps; keep it for `Trial::replay`:\n{LEGEND}")?;
        write!(f, "{}", self.trace)?;
        self.again().map_or(Ok(()), |again| writeln!(f, "\nto see it again: {again}"))
    }
}

impl std::error::Error for Failure {}

/// The test that this thread runs.
pub(super) fn current_test() -> Option<String> {
    std::thread::current().name().filter(|name| *name != "main").map(str::to_owned)
}
