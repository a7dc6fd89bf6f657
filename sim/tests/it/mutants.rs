//! Broken variants of the protocol: a world that lets one of them live is missing a check.
use bucketlog_sim::mutants::{MUTANTS, first_to_catch};

/// Seeds tried for each variant.
const SEEDS: u64 = 6_000;

#[test]
fn every_broken_variant_is_caught() {
    assert!(MUTANTS.len() >= 60, "{} variants", MUTANTS.len());
    let verdicts: Vec<_> = MUTANTS.iter().map(|mutant| (*mutant, first_to_catch(mutant, SEEDS))).collect();
    for (mutant, seed) in &verdicts {
        println!("{mutant}: {seed:?}");
    }
    let survivors: Vec<_> = verdicts.iter().filter(|(_, seed)| seed.is_none()).map(|(mutant, _)| mutant).collect();
    assert!(survivors.is_empty(), "not caught within {SEEDS} seeds: {survivors:?}");
}
