//! Every short run from prepared states, and a crash after every step of a script.
use crate::corpus::recordings;
use bucketlog_sim::action::Kind;
use bucketlog_sim::crash::enumerate;
use bucketlog_sim::exhaust::exhaust;
use bucketlog_sim::setup::{Knob, Weights};

const MOVES: [&str; 8] = ["lost", "astray", "dropped", "mute", "409", "crash", "land", "start-writer"];
const HANDS: [&str; 6] = ["delete-head", "restore", "touch", "rival-trim", "astray", "land"];

fn check(moves: &[&str], depth: u32) {
    let mut weights = Weights::calm();
    for knob in Knob::all().filter(|knob| knob.is_fault()) {
        weights.set(knob, u32::from(moves.contains(&knob.word())));
    }
    for (file, prepared) in recordings("prepared") {
        let outcome = prepared.replay(&mut |_, _| {});
        assert_eq!(outcome.steps, prepared.actions.len() as u64, "{}: some steps were impossible", file.display());
        let report = exhaust(&prepared, &weights, depth, 100_000);
        assert_eq!(report.failure, None, "{}", file.display());
        assert!(!report.is_cut && report.states > 50, "{}: {} states", file.display(), report.states);
    }
}

#[test]
fn no_short_run_from_a_prepared_state_breaks_a_rule() {
    check(&MOVES, 5);
}

#[test]
fn no_short_run_with_operators_at_work_breaks_a_rule() {
    check(&HANDS, 4);
}

#[test]
fn a_crash_at_any_step_loses_nothing() {
    let (_, script) = recordings("prepared").into_iter().find(|(file, _)| file.ends_with("script.txt")).unwrap();
    let rows = enumerate(&script).unwrap();
    assert_eq!(rows.len(), script.actions.len() + 1);
    let between_upload_and_swap = rows.iter().find(|row| row.in_flight == [Kind::Swap] && row.step > 5).unwrap();
    assert_eq!(between_upload_and_swap.records, (1, 3), "the swap decides: both its records, or none");
    assert_eq!(rows.last().unwrap().records, (7, 7), "a closed log has all it took");
}
