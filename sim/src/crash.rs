//! A crash after every step of a script, with every subset of the requests in flight applied, and a recovery.
use crate::action::{Action, How, Kind, Turn};
use crate::check::Violation;
use crate::run::Recording;

/// Requests in flight of which all subsets are tried; of further ones none is applied before the crash.
const MAX_SUBSET: usize = 6;

/// What the crashes after one step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Steps before the crash.
    pub step: usize,
    /// The last of them.
    pub after: Option<Action>,
    /// Writes in flight.
    pub in_flight: Vec<Kind>,
    /// Runs: one per subset of the writes in flight.
    pub runs: u64,
    /// Records in the log after recovery, least and most; includes the one that the new writer appends.
    pub records: (u64, u64),
}

/// A run that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The script up to the crash, with the crash.
    pub recording: Recording,
    /// The rule.
    pub violation: Violation,
}

/// Crashes process 0 after each step of `script`. The subset is applied before the crash; every other write lands after
/// the recovery, as late as can be.
///
/// # Errors
/// The first run that breaks a rule.
pub fn enumerate(script: &Recording) -> Result<Vec<Row>, Box<Failure>> {
    (0..=script.actions.len()).map(|step| row(script, step)).collect()
}

fn row(script: &Recording, step: usize) -> Result<Row, Box<Failure>> {
    let before = Recording { setup: script.setup, actions: script.actions[..step].to_vec(), quiesce: true };
    let fail = |recording: &Recording, violation| Box::new(Failure { recording: recording.clone(), violation });
    let world = before.world().map_err(|violation| fail(&before, violation))?;
    let writes = world.writes_in_flight(0);
    let (mut runs, mut least, mut most) = (0, u64::MAX, 0);
    for subset in 0..1_u32 << writes.len().min(MAX_SUBSET) {
        let mut run = before.clone();
        // From the last on, so that the numbers of the others stay the same.
        for (_, (kind, nth)) in writes.iter().enumerate().rev().filter(|(i, _)| subset >> i & 1 == 1) {
            run.actions.push(Action::Answer { site: 0, kind: *kind, nth: *nth, how: How::Mute });
        }
        run.actions.push(Action::Turn { turn: Turn::Crash, subject: 0 });
        run.actions.push(Action::Turn { turn: Turn::StartWriter, subject: 0 });
        let mut world = run.world().map_err(|violation| fail(&run, violation))?;
        world.quiesce(&mut Vec::new()).map_err(|violation| fail(&run, violation))?;
        let records = world.log().next_lsn().0;
        (runs, least, most) = (runs + 1, least.min(records), most.max(records));
    }
    let in_flight = writes.iter().map(|(kind, _)| *kind).collect();
    Ok(Row { step, after: before.actions.last().copied(), in_flight, runs, records: (least, most) })
}
