//! Broken variants of the protocol, tried in the world: one that breaks no rule shows that a check is missing.
pub use bucketlog_core::mutant::MUTANTS;

use crate::run::seeded;
use bucketlog_core::mutant::switch_on;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Steps of the runs that try variants.
pub const STEPS: u64 = 600;

/// What the runs of one variant came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The run that broke a rule, and the rule.
    pub caught: Option<(u64, &'static str)>,
    /// A run before it in which the variant panicked, and what it said. A panic breaks no rule: it may be luck.
    pub panicked: Option<(u64, String)>,
    /// Whether the pinned run caught it.
    pub by_pin: bool,
}

/// The seeds that are known to catch each variant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins(BTreeMap<String, u64>);

impl Pins {
    /// Those that are kept with this crate; where they are outdated, runs find others.
    #[must_use]
    pub fn kept() -> Self {
        Self::parse(include_str!("../pins.txt"))
    }

    /// One line for each variant: the seed, a space, the variant's name. Other lines mean nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let (seed, name) = line.split_once(' ')?;
            Some((name.trim().to_owned(), seed.parse().ok()?))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// The text that [`Pins::parse`] reads, of the variants that were caught.
    #[must_use]
    pub fn text(verdicts: &[(&str, Verdict)]) -> String {
        let mut text = "# The seed that catches each broken variant: bucketlog-sim mutants --pin\n".to_owned();
        for (name, verdict) in verdicts {
            if let Some((seed, _)) = verdict.caught {
                // Writing to a string can't fail.
                let _ = writeln!(text, "{seed} {name}");
            }
        }
        text
    }

    /// The seed of a variant.
    #[must_use]
    pub fn seed(&self, mutant: &str) -> Option<u64> {
        self.0.get(mutant).copied()
    }

    /// The names of all variants that have one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Tries every variant: its pinned seed first, then all below `seeds`, until a run breaks a rule. `done` is called after
/// each variant. Verdicts are in the order of [`MUTANTS`].
pub fn try_all(seeds: u64, pins: &Pins, jobs: usize, done: &(dyn Fn() + Sync)) -> Vec<(&'static str, Verdict)> {
    let (next, verdicts) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((index, mutant)) = nth(next.fetch_add(1, Ordering::Relaxed)) {
            let verdict = try_one(mutant, seeds, pins.seed(mutant));
            verdicts.lock().unwrap_or_else(PoisonError::into_inner).push((index, mutant, verdict));
            done();
        }
    };
    std::thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
    let mut verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    verdicts.sort_by_key(|(index, ..)| *index);
    verdicts.into_iter().map(|(_, mutant, verdict)| (mutant, verdict)).collect()
}

fn nth(index: usize) -> Option<(usize, &'static str)> {
    MUTANTS.get(index).map(|mutant| (index, *mutant))
}

/// Tries one variant, on this thread.
#[must_use]
pub fn try_one(mutant: &'static str, seeds: u64, pin: Option<u64>) -> Verdict {
    switch_on(mutant);
    let mut verdict = Verdict::default();
    for seed in pin.into_iter().chain(0..seeds) {
        match std::panic::catch_unwind(|| seeded(seed, STEPS, |_| true, &mut |_, _| {}).1.violation) {
            Ok(None) => {}
            Ok(Some(violation)) => {
                verdict.caught = Some((seed, violation.rule));
                verdict.by_pin = pin == Some(seed);
                break;
            }
            Err(panic) => drop(verdict.panicked.get_or_insert_with(|| (seed, message(&*panic)))),
        }
    }
    switch_on("");
    verdict
}

/// Does something while one variant is switched on, on this thread.
pub fn with<T>(mutant: &'static str, act: impl FnOnce() -> T) -> T {
    switch_on(mutant);
    let result = act();
    switch_on("");
    result
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it said nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_survive_their_text() {
        let caught = |seed| Verdict { caught: Some((seed, "a rule")), ..Verdict::default() };
        let pins = Pins::parse(&Pins::text(&[("one thing", caught(7)), ("another", Verdict::default())]));
        assert_eq!(pins.seed("one thing"), Some(7));
        assert_eq!(pins.names().collect::<Vec<_>>(), ["one thing"]);
    }
}
