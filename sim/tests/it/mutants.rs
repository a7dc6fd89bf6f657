//! Broken variants of the protocol: a world that lets one of them live is missing a check.
use bucketlog_sim::mutants::{MUTANTS, Pins, try_all};

/// Seeds tried for a variant that its pinned seed does not catch any more.
const SEEDS: u64 = 12_000;

#[test]
fn a_rule_catches_every_broken_variant() {
    let verdicts = try_all(SEEDS, &Pins::kept(), 2, &|| {});
    assert_eq!(verdicts.len(), MUTANTS.len());
    for (mutant, verdict) in &verdicts {
        let pin = if verdict.by_pin { "" } else { " (not pinned: bucketlog-sim mutants --pin)" };
        println!("{mutant}: {:?}{pin}", verdict.caught);
        if let Some((seed, message)) = &verdict.panicked {
            println!("    panics with seed {seed}: {message}");
        }
    }
    let survivors: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.caught.is_none()).collect();
    assert!(survivors.is_empty(), "no rule catches these within {SEEDS} seeds: {survivors:#?}");
}

#[test]
fn every_pin_is_of_a_variant_that_is_there() {
    let pins = Pins::kept();
    let odd: Vec<_> = pins.names().filter(|name| !MUTANTS.contains(name)).collect();
    assert!(odd.is_empty(), "{odd:?}");
}
