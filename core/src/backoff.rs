//! How long to wait before the next attempt.
use crate::boundary::{Fault, RefusalKind};
use crate::entropy::Entropy;
use crate::mutant::mutant;
use std::time::Duration;

/// Exponential back-off with jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backoff {
    /// Wait after the first failure; the actual wait is between half of it and all of it. Default 50 ms.
    pub base: Duration,
    /// The wait doubles up to this. Default 30 s.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_millis(50), max: Duration::from_secs(30) }
    }
}

impl Backoff {
    /// The wait after failure number `failures` (from 1), and no less than the store asked for.
    pub(crate) fn delay(&self, failures: u32, fault: &Fault, entropy: &mut Entropy) -> Duration {
        let doublings = failures.saturating_sub(1).min(20);
        let wait = entropy.jittered(self.base.saturating_mul(1 << doublings).min(self.max));
        match fault.refusal() {
            Some(RefusalKind::Throttled(Some(asked))) if !mutant("Retry-After is ignored") => wait.max(*asked),
            _ => wait,
        }
    }
}
