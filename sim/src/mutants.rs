//! Broken variants of the protocol, tried in the world: one that breaks no rule shows that a check is missing.
pub use bucketlog_core::mutant::MUTANTS;

use crate::run::seeded;
use bucketlog_core::mutant::switch_on;

/// The first of the seeds below `seeds` whose run shows that the variant is broken: by a broken rule, or by a panic.
#[must_use]
pub fn first_to_catch(mutant: &'static str, seeds: u64) -> Option<u64> {
    switch_on(mutant);
    let caught = (0..seeds).find(|seed| {
        let run = || seeded(*seed, 600, |_| true, &mut |_, _| {}).1.violation.is_some();
        std::panic::catch_unwind(run).unwrap_or(true)
    });
    switch_on("");
    caught
}
