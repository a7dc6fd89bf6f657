//! Is a history linearizable?
//!
//! Every call says at which tail of the log it took place, so the order is known almost wholly: at each tail first the
//! claims, by epoch, and the reads, which change nothing, then the one append that ends it. What is left to choose is
//! which of several appends without an answer took place, where none with an answer did; hashes that were read decide.
//! So the check takes about as long as sorting the calls, and every run ends with it.
use super::Violation;
use super::history::{Deed, Operation};
use crate::value::Value;
use std::collections::BTreeMap;

/// The time within which a call took place.
#[derive(Clone, Copy, Debug)]
struct Span {
    begin: u64,
    end: Option<u64>,
}

impl Span {
    /// The first moment at or after `time` that lies in the span.
    fn after(self, time: u64) -> Option<u64> {
        let moment = time.max(self.begin);
        self.end.is_none_or(|end| moment <= end).then_some(moment)
    }
}

/// An append that may have ended a tail.
#[derive(Clone, Copy, Debug)]
struct Append {
    site: u8,
    value: Value,
    span: Span,
}

/// What happened at one tail.
#[derive(Clone, Debug, Default)]
struct Stay {
    claims: Vec<(u64, Span)>,
    reads: Vec<(Option<u64>, Span)>,
    appends: Vec<Append>,
}

/// The log, as far as its users see it, at the earliest moment that explains all before.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    tail: u64,
    hash: u64,
    epoch: u64,
    time: u64,
    /// Who appended last.
    site: u8,
}

/// Finds an order of the calls that explains all answers.
///
/// # Errors
/// There is none.
pub fn check(operations: &[Operation]) -> Result<(), Violation> {
    let (mut stays, mut creates) = (BTreeMap::<u64, Stay>::new(), Vec::new());
    let (mut end, mut base) = (0, u64::MAX);
    for Operation { site, begin, end: returned, deed } in operations {
        let span = Span { begin: *begin, end: *returned };
        match *deed {
            Deed::Create { lsn } => creates.push((lsn, span)),
            Deed::Claim { epoch, lsn } => {
                stays.entry(lsn).or_default().claims.push((epoch, span));
                (end, base) = (end.max(lsn), base.min(lsn));
            }
            Deed::Read { tail, hash } => {
                stays.entry(tail).or_default().reads.push((hash, span));
                (end, base) = (end.max(tail), base.min(if tail > 0 { tail } else { u64::MAX }));
            }
            Deed::Append { lsn, value } => {
                stays.entry(lsn).or_default().appends.push(Append { site: *site, value, span });
                if returned.is_some() {
                    (end, base) = (end.max(lsn + 1), base.min(lsn));
                }
            }
        }
    }
    walk(&stays, begins(&creates, base, stays.get(&0)), end)
}

/// The states from which the calls may go on: that of an empty log, or of one that was created above LSN 0. `base`: the
/// least tail above 0 that somebody saw, or at which something took place.
fn begins(creates: &[(u64, Span)], base: u64, empty: Option<&Stay>) -> Vec<State> {
    let is_made = |(_, span): &&(u64, Span)| span.end.is_some();
    match creates.iter().filter(is_made).count() {
        0 => {
            let created = creates.iter().filter_map(|create| created(*create, base, empty));
            created.chain([State::default()]).collect()
        }
        1 => creates.iter().filter(is_made).filter_map(|create| created(*create, base, empty)).collect(),
        _ => Vec::new(),
    }
}

fn created((lsn, span): (u64, Span), base: u64, empty: Option<&Stay>) -> Option<State> {
    let mut time = 0;
    // Reads of the log before it was there.
    for (hash, span) in empty.into_iter().flat_map(|stay| &stay.reads) {
        time = time.max(span.after(0).filter(|_| hash.is_none_or(|hash| hash == 0))?);
    }
    let time = span.after(time).filter(|_| lsn <= base)?;
    Some(State { tail: lsn, time, ..State::default() })
}

/// Goes from tail to tail, up to `end`; where several appends are possible, to the next one if one does not lead there.
fn walk(stays: &BTreeMap<u64, Stay>, mut open: Vec<State>, end: u64) -> Result<(), Violation> {
    let mut furthest = 0;
    while let Some(state) = open.pop() {
        furthest = furthest.max(state.tail);
        let stay = stays.get(&state.tail);
        let Some(state) = stay.map_or(Some(state), |stay| stay.pass(state)) else { continue };
        if state.tail >= end {
            return Ok(());
        }
        let Some(stay) = stay else { continue };
        let mut done = stay.appends.iter().filter(|append| append.span.end.is_some());
        match (done.next(), done.next()) {
            (Some(_), Some(_)) => {}
            (Some(append), None) => open.extend(append.apply(state)),
            (None, _) => {
                // The likeliest comes last: it is taken first.
                let mut appends: Vec<&Append> = stay.appends.iter().collect();
                appends.sort_by_key(|append| (append.site == state.site, std::cmp::Reverse(append.span.begin)));
                open.extend(appends.into_iter().filter_map(|append| append.apply(state)));
            }
        }
    }
    let detail = format!("no order explains the answers at tail {furthest}");
    Err(Violation::new("the history is linearizable", detail))
}

impl Stay {
    /// The state after all claims and reads.
    fn pass(&self, before: State) -> Option<State> {
        let mut state = before;
        let mut claims = self.claims.clone();
        claims.sort_by_key(|(epoch, _)| *epoch);
        for (epoch, span) in claims {
            if epoch <= state.epoch {
                return None;
            }
            (state.epoch, state.time) = (epoch, span.after(state.time)?);
        }
        for (hash, span) in &self.reads {
            if hash.is_some_and(|hash| hash != before.hash) {
                return None;
            }
            state.time = state.time.max(span.after(before.time)?);
        }
        Some(state)
    }
}

impl Append {
    fn apply(&self, state: State) -> Option<State> {
        let time = self.span.after(state.time)?;
        let hash = self.value.chain(state.hash);
        Some(State { tail: state.tail + 1, hash, time, site: self.site, ..state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Random;
    use std::collections::HashSet;

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

    /// The log, as far as its users see it, without times.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    struct Simple {
        tail: u64,
        hash: u64,
        epoch: u64,
        is_created: bool,
    }

    impl Simple {
        /// The state after a deed, if the deed is possible in this one.
        fn after(self, deed: Deed) -> Option<Self> {
            match deed {
                Deed::Append { lsn, value } => {
                    (lsn == self.tail).then(|| Self { tail: lsn + 1, hash: value.chain(self.hash), ..self })
                }
                Deed::Read { tail, hash } => {
                    (tail == self.tail && hash.is_none_or(|hash| hash == self.hash)).then_some(self)
                }
                Deed::Create { lsn } => {
                    (self == Self::default()).then_some(Self { tail: lsn, is_created: true, ..self })
                }
                Deed::Claim { epoch, lsn } => {
                    (lsn == self.tail && epoch > self.epoch).then_some(Self { epoch, ..self })
                }
            }
        }
    }

    /// A place in the search: what was done, and what came of it.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Place {
        done: Vec<u64>,
        state: Simple,
    }

    /// The plain way: a search in the manner of Wing and Gong, with the places that failed remembered.
    fn search(operations: &[Operation]) -> Result<(), Violation> {
        let mut seen = HashSet::new();
        let mut stack = vec![Place { done: vec![0; operations.len().div_ceil(64)], state: Simple::default() }];
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

    /// Small histories with few values, so that many are linearizable and many are not.
    fn drawn(random: &mut Random) -> Vec<Operation> {
        let mut pick = |bound: u64| random.below(bound);
        let mut values = 0;
        let count = 2 + pick(6);
        let calls = (0..count).map(|_| {
            let begin = pick(8);
            let end = (pick(4) > 0).then(|| begin + pick(8));
            let (tail, lsn) = (pick(3), pick(3));
            let deed = match pick(6) {
                0..=2 => {
                    values += 1;
                    append(lsn, values)
                }
                3 | 4 => {
                    let hash = match pick(4) {
                        0 if tail == 0 => Some(0),
                        1 if tail == 1 => Some(Value::new(0, 1).chain(0)),
                        2 if tail == 1 => Some(Value::new(0, 2).chain(0)),
                        _ => None,
                    };
                    return operation(begin, Some(begin + pick(8)), Deed::Read { tail, hash });
                }
                _ if pick(3) == 0 => Deed::Create { lsn: 1 },
                _ => return operation(begin, Some(begin + pick(8)), Deed::Claim { epoch: 1 + pick(3), lsn }),
            };
            operation(begin, end, deed)
        });
        calls.collect()
    }

    #[test]
    fn the_short_way_and_the_plain_way_agree() {
        let mut counts = [0, 0];
        for seed in 0..60_000 {
            let calls = drawn(&mut Random::new(seed));
            let (short, plain) = (check(&calls).is_ok(), search(&calls).is_ok());
            assert_eq!(short, plain, "seed {seed}: {calls:#?}");
            counts[usize::from(plain)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 1_000), "{counts:?}");
    }
}
