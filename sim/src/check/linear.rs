//! Is a history linearizable?
//!
//! Appends and claims say at which tail they took place, so their order is known but for the calls of unknown end; a
//! search in the manner of Wing and Gong, with the states that failed remembered, is short.
use super::Violation;
use super::history::{Deed, Operation};
use std::collections::HashSet;

/// The log, as far as its users see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    tail: u64,
    hash: u64,
    epoch: u64,
    is_created: bool,
}

impl State {
    /// The state after a deed, if the deed is possible in this one.
    fn after(self, deed: Deed) -> Option<Self> {
        match deed {
            Deed::Append { lsn, value } => {
                (lsn == self.tail).then(|| Self { tail: lsn + 1, hash: value.chain(self.hash), ..self })
            }
            Deed::Read { tail, hash } => {
                (tail == self.tail && hash.is_none_or(|hash| hash == self.hash)).then_some(self)
            }
            Deed::Create { lsn } => (self == Self::default()).then_some(Self { tail: lsn, is_created: true, ..self }),
            Deed::Claim { epoch, lsn } => (lsn == self.tail && epoch > self.epoch).then_some(Self { epoch, ..self }),
        }
    }
}

/// A place in the search: what was done, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    done: Vec<u64>,
    state: State,
}

/// Finds an order of the calls that explains all answers.
///
/// # Errors
/// There is none.
pub fn check(operations: &[Operation]) -> Result<(), Violation> {
    let mut seen = HashSet::new();
    let mut stack = vec![Place { done: vec![0; operations.len().div_ceil(64)], state: State::default() }];
    let mut best = 0;
    while let Some(place) = stack.pop() {
        let is_done = |index: usize| place.done[index / 64] >> (index % 64) & 1 == 1;
        let open = || operations.iter().enumerate().filter(|(index, _)| !is_done(*index));
        // Whoever returned before another began comes before it.
        let Some(first_end) = open().filter_map(|(_, operation)| operation.end).min() else { return Ok(()) };
        best = best.max(first_end);
        for (index, operation) in open().filter(|(_, operation)| operation.begin <= first_end) {
            if let Some(state) = place.state.after(operation.deed) {
                let mut done = place.done.clone();
                done[index / 64] |= 1 << (index % 64);
                let next = Place { done, state };
                if seen.insert(next.clone()) {
                    stack.push(next);
                }
            }
        }
    }
    Err(Violation::new("the history is linearizable", format!("no order explains the answers up to step {best}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn operation(begin: u64, end: Option<u64>, deed: Deed) -> Operation {
        Operation { site: 0, begin, end, deed }
    }

    fn append(lsn: u64, index: u32) -> Deed {
        Deed::Append { lsn, value: Value::new(0, index) }
    }

    #[test]
    fn calls_at_the_same_time_may_have_any_order() {
        let calls = [operation(1, Some(9), append(1, 1)), operation(1, Some(9), append(0, 0))];
        assert_eq!(check(&calls), Ok(()));
    }

    #[test]
    fn calls_one_after_the_other_may_not() {
        let calls = [operation(1, Some(2), append(1, 1)), operation(3, Some(4), append(0, 0))];
        assert!(check(&calls).is_err());
    }

    #[test]
    fn a_read_sees_what_was_acknowledged_before_it() {
        let read = |tail| operation(3, Some(4), Deed::Read { tail, hash: None });
        assert_eq!(check(&[operation(1, Some(2), append(0, 0)), read(1)]), Ok(()));
        assert!(check(&[operation(1, Some(2), append(0, 0)), read(0)]).is_err());
    }

    #[test]
    fn a_call_that_never_returned_may_have_taken_place_or_not() {
        let unknown = operation(1, None, append(0, 0));
        for tail in [0, 1] {
            assert_eq!(check(&[unknown, operation(3, Some(4), Deed::Read { tail, hash: None })]), Ok(()));
        }
        let hash = Some(Value::new(7, 7).chain(0));
        assert!(check(&[unknown, operation(3, Some(4), Deed::Read { tail: 1, hash })]).is_err());
    }

    #[test]
    fn an_epoch_opens_once() {
        let claim = |begin| operation(begin, Some(begin + 1), Deed::Claim { epoch: 1, lsn: 0 });
        assert_eq!(check(&[claim(1)]), Ok(()));
        assert!(check(&[claim(1), claim(3)]).is_err());
    }
}
