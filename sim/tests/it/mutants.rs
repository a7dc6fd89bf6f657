//! Broken variants of the protocol: a world that lets one of them live is missing a check.
use bucketlog_core::mutant::{MUTANTS, switch_on};
use bucketlog_sim::run::seeded;

/// Seeds tried for each variant.
const SEEDS: u64 = 6_000;

/// The first seed whose run shows that the variant is broken: by a broken rule, or by a panic.
fn first_to_catch(mutant: &'static str) -> Option<u64> {
    switch_on(mutant);
    let caught = (0..SEEDS).find(|seed| {
        let run = || seeded(*seed, 600, |_| true, &mut |_, _| {}).1.violation.is_some();
        std::panic::catch_unwind(run).unwrap_or(true)
    });
    switch_on("");
    caught
}

#[test]
fn every_broken_variant_is_caught() {
    let verdicts: Vec<_> = MUTANTS.iter().map(|mutant| (*mutant, first_to_catch(mutant))).collect();
    for (mutant, seed) in &verdicts {
        println!("{mutant}: {seed:?}");
    }
    let survivors: Vec<_> = verdicts.iter().filter(|(_, seed)| seed.is_none()).map(|(mutant, _)| mutant).collect();
    assert!(survivors.is_empty(), "not caught within {SEEDS} seeds: {survivors:?}");
}
