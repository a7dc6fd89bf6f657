//! Seeded runs: every fault in every mixture, each run twice.
use bucketlog_sim::run::{Recording, seeded};
use bucketlog_sim::setup::Knob;

fn check(seeds: std::ops::Range<u64>, steps: u64, allowed: impl Fn(Knob) -> bool + Copy) {
    for seed in seeds {
        let (recording, outcome) = seeded(seed, steps, allowed, &mut |_, _| {});
        if let Some(violation) = outcome.violation {
            let small = recording.minimised();
            panic!("seed {seed}: {violation}\n{small}");
        }
        let text = recording.to_string();
        let again = text.parse::<Recording>().unwrap().replay(&mut |_, _| {});
        assert_eq!(again.hash, outcome.hash, "seed {seed} gives two histories");
    }
}

#[test]
fn all_faults_at_once_break_no_rule() {
    check(0..3_000, 1_000, |_| true);
}

#[test]
fn a_world_without_faults_breaks_no_rule() {
    check(1_000..1_020, 1_000, |_| false);
}
