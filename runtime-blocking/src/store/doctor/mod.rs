//! Whether a store can carry a log: what the log relies on, tried on scratch objects.
//!
//! ```
//! use bucketlog_blocking::store::{Memory, conformance::Races, doctor};
//!
//! let races = Races { racers: 4, rounds: 2 };
//! let diagnosis = doctor::examine(&Memory::new(), "scratch", races, |_| {});
//! assert!(diagnosis.is_fit_for(doctor::Need::Writing));
//! ```
mod capability;
mod operation;

pub use capability::{CAPABILITIES, Capability, Need};

use super::Store;
use super::conformance::{Races, Suite};
use operation::Trial;

/// What the doctor found about one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was examined.
    pub capability: &'static Capability,
    /// What came of it.
    pub verdict: Verdict,
}

impl Finding {
    /// Whether a log can do with it: the capability holds, or is one that a store may lack.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        match self.verdict {
            Verdict::Holds => true,
            Verdict::Unsupported(_) => self.capability.is_optional,
            _ => false,
        }
    }
}

/// How a store stands towards a capability.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Everything tried was as it must be.
    Holds,
    /// The store does something else: what was expected, and what came.
    Broken(String),
    /// The store refuses the operation to these credentials.
    Denied {
        /// Which permission is missing, as S3 names it.
        permission: &'static str,
        /// What the store said.
        detail: String,
    },
    /// The store has no such operation.
    Unsupported(String),
    /// It could not be tried: why.
    NotTried(String),
}

impl Verdict {
    /// Stable name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken(_) => "broken",
            Self::Denied { .. } => "denied",
            Self::Unsupported(_) => "unsupported",
            Self::NotTried(_) => "not_tried",
        }
    }

    /// What happened; empty for what holds.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Holds => String::new(),
            Self::Broken(detail) | Self::Unsupported(detail) | Self::NotTried(detail) => detail.clone(),
            Self::Denied { permission, detail } => format!("needs the permission {permission}: {detail}"),
        }
    }
}

/// All findings.
#[must_use = "a store that is not fit for writing loses records"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// One for each of [`CAPABILITIES`], in that order.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Whether everything that `need` relies on holds.
    #[must_use]
    pub fn is_fit_for(&self, need: Need) -> bool {
        self.faults(need).next().is_none()
    }

    /// What `need` relies on and does not hold.
    pub fn faults(&self, need: Need) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.capability.need <= need && !finding.is_fine())
    }
}

/// Tries every capability on objects below `prefix`, and deletes them as far as the store allows it. `on_finding` hears
/// of each as it is known.
///
/// Takes some hundred requests and, in races, as many at once as there are racers. No check can find a store that is
/// right today and wrong under a load, a failure or a release that it does not meet now.
pub fn examine(store: &dyn Store, prefix: &str, races: Races, mut on_finding: impl FnMut(&Finding)) -> Diagnosis {
    let trial = Trial::run(store, prefix);
    let suite = Suite { store, prefix, races };
    let mut findings = Vec::new();
    for capability in CAPABILITIES {
        let verdict = trial.obstacle(capability.operation).unwrap_or_else(|| check(&suite, capability));
        let finding = Finding { capability, verdict };
        on_finding(&finding);
        findings.push(finding);
    }
    Diagnosis { findings }
}

fn check(suite: &Suite<'_>, capability: &Capability) -> Verdict {
    let failures: Vec<String> = capability
        .checks
        .iter()
        .filter_map(|name| suite.run_and_clean(name)?.failure.map(|failure| format!("{name}: {failure}")))
        .collect();
    if failures.is_empty() { Verdict::Holds } else { Verdict::Broken(failures.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::conformance::is_check;

    #[test]
    fn every_capability_rests_on_checks_that_exist() {
        for capability in CAPABILITIES {
            assert!(!capability.checks.is_empty(), "{}", capability.name);
            for name in capability.checks {
                assert!(is_check(name), "{} of {}", name, capability.name);
            }
        }
    }
}
