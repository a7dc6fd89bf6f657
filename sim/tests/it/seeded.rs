//! Seeded runs: every fault in every mixture, each run twice.
use bucketlog_sim::run::{Recording, seeded};
use bucketlog_sim::setup::Knob;
use bucketlog_sim::stats::Stats;

fn check(seeds: std::ops::Range<u64>, steps: u64, allowed: impl Fn(Knob) -> bool + Copy) -> Stats {
    let mut stats = Stats::default();
    for seed in seeds {
        let (recording, outcome) = seeded(seed, steps, allowed, &mut |_, news| stats.add(news));
        if let Some(violation) = outcome.violation {
            let small = recording.minimised();
            panic!("seed {seed}: {violation}\n{small}");
        }
        let text = recording.to_string();
        let again = text.parse::<Recording>().unwrap().replay(&mut |_, _| {});
        assert_eq!(again.hash, outcome.hash, "seed {seed} gives two histories");
    }
    stats
}

#[test]
fn all_faults_at_once_break_no_rule() {
    let stats = check(0..2_500, 600, |_| true);
    assert_eq!(stats.rows_below(10), [], "rows of the rule book that were hardly exercised");
}

#[test]
fn a_world_without_faults_breaks_no_rule() {
    check(1_000..1_020, 1_000, |_| false);
}
