//! Histories of seeded runs, judged by a check that knows only what users saw.
use bucketlog_sim::action::Turn;
use bucketlog_sim::check::history::{Deed, History, Operation};
use bucketlog_sim::check::linear;
use bucketlog_sim::run::seeded;
use bucketlog_sim::setup::Knob;

#[test]
fn histories_are_linearizable_and_a_false_answer_is_found() {
    // Two histories are told where an operator puts a head back or deletes it.
    let off = [Knob::Turn(Turn::Restore), Knob::Turn(Turn::Delete)];
    let (mut calls, mut found) = (0, 0);
    for seed in 0..200 {
        let mut history = History::default();
        let (_, outcome) = seeded(seed, 300, |knob| !off.contains(&knob), &mut |_, news| history.add(news));
        assert_eq!(outcome.violation, None, "seed {seed}");
        assert_eq!(linear::check(history.operations()), Ok(()), "seed {seed}:\n{}", history.to_jsonl());
        let mut false_history = history.operations().to_vec();
        calls += false_history.len();
        let is_committed = |call: &Operation| call.end.is_some() && matches!(call.deed, Deed::Append { .. });
        if false_history.iter().any(is_committed) {
            let deed = Deed::Read { tail: 0, hash: None };
            false_history.push(Operation { site: 99, begin: u64::MAX, end: Some(u64::MAX), deed });
            assert!(linear::check(&false_history).is_err(), "seed {seed}: a log that was written can't be empty");
            found += 1;
        }
    }
    assert!(calls > 2_000 && found > 50, "{calls} calls, {found} histories with an acknowledged record");
}
