//! What must hold at every step, whatever the faults.
pub mod history;
pub mod linear;
pub mod log;
mod tree;

use std::fmt;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The rule, in a few words that stay the same while a run is minimised.
    pub rule: &'static str,
    /// What was found.
    pub detail: String,
}

impl Violation {
    /// A broken rule and what was found.
    pub fn new(rule: &'static str, detail: impl fmt::Display) -> Self {
        Self { rule, detail: detail.to_string() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}

impl std::error::Error for Violation {}

/// Fails with `rule` unless `holds`.
pub(crate) fn ensure<D: fmt::Display>(
    holds: bool,
    rule: &'static str,
    detail: impl FnOnce() -> D,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::new(rule, detail())) }
}
