//! Seeded runs: every fault in every mixture, each run twice.
use bucketlog_sim::run::{Recording, seeded, seeded_from};
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

/// Enough that the rarest row (retention has passed a commit in doubt) comes up a hundred times.
#[test]
fn all_faults_at_once_break_no_rule() {
    let stats = std::thread::scope(|scope| {
        let halves = [0..10_000, 10_000..20_000];
        let running = halves.map(|seeds| scope.spawn(|| check(seeds, 600, |_| true)));
        running.map(|half| half.join().expect("a half without a violation"))
    });
    let [mut all, other] = stats;
    all.merge(&other);
    assert_eq!(all.rows_below(100), [], "rows of the rule book that were hardly exercised");
}

#[test]
fn a_world_without_faults_breaks_no_rule() {
    check(1_000..1_020, 1_000, |_| false);
}

#[test]
fn runs_go_on_from_a_scenario_and_are_the_same_each_time() {
    let scenario: Recording = include_str!("../../prepared/swap-in-flight.txt").parse().unwrap();
    for seed in 0..200 {
        let run = || seeded_from(&scenario, seed, 100, |_| true, &mut |_, _| {});
        let (recording, outcome) = run();
        assert_eq!(outcome.violation, None, "{recording}");
        assert!(recording.actions.starts_with(&scenario.actions) && recording.setup == scenario.setup);
        assert_eq!(run(), (recording, outcome));
    }
}
