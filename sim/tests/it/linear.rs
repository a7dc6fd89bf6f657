//! Histories of seeded runs, judged by a check that knows only what users saw.
use bucketlog_sim::action::{How, Turn};
use bucketlog_sim::check::history::History;
use bucketlog_sim::check::linear;
use bucketlog_sim::run::seeded;
use bucketlog_sim::setup::Knob;

#[test]
fn histories_are_linearizable() {
    // Without those that take records away, or stop readers for good.
    let off = [
        Knob::Turn(Turn::Restore),
        Knob::Turn(Turn::Delete),
        Knob::Turn(Turn::RivalTrim),
        Knob::How(How::Short),
        Knob::How(How::Flipped),
    ];
    for seed in 0..200 {
        let mut history = History::default();
        let (_, outcome) = seeded(seed, 300, |knob| !off.contains(&knob), &mut |_, news| history.add(news));
        assert_eq!(outcome.violation, None, "seed {seed}");
        assert_eq!(linear::check(history.operations()), Ok(()), "seed {seed}:\n{}", history.to_jsonl());
    }
}
