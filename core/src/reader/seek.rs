//! The search for the first record at or after a timestamp.
use super::ReadError;
use super::call::Progress;
use super::loads::{LoadKey, Want};
use super::part::Part;
use super::stock::{Stock, Value};
use super::walk::{Located, Target, Walk};
use crate::format::catalog::Head;
use crate::ids::{Lsn, TimestampMs};
use crate::mutant::mutant;

/// A search in progress, under one head.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seek {
    timestamp: TimestampMs,
    walk: Walk,
    part: Option<Part>,
}

impl Seek {
    pub(super) fn new(timestamp: TimestampMs) -> Self {
        Self { timestamp, walk: Walk::default(), part: None }
    }

    /// Takes something loaded.
    pub(super) fn accept(&mut self, key: LoadKey, result: Result<Value, ReadError>, stock: &Stock) {
        match (&mut self.part, key, result) {
            (_, LoadKey::Page(_), Ok(Value::Page(page))) => self.walk.accept(Ok(page)),
            (_, LoadKey::Page(_), Err(error)) => self.walk.accept(Err(error)),
            (Some(part), key, result) => part.accept(key, result, stock),
            (None, ..) => {}
        }
    }

    /// Goes on as far as possible; `None` if every record is older.
    pub(super) fn step(&mut self, head: &Head, stock: &mut Stock) -> Result<Progress<Option<Lsn>>, ReadError> {
        let part = match &mut self.part {
            Some(part) => part,
            None => match self.walk.locate(head, Target::Timestamp(self.timestamp), stock)? {
                Located::Segment(entry) => self.part.insert(Part::new(entry)),
                Located::Page(reference) => return Ok(Progress::Wait(vec![Want::Page(reference)])),
                Located::Nowhere => return Ok(Progress::Ready(None)),
            },
        };
        let Some(segment) = part.segment(stock) else {
            return Ok(Progress::Wait(vec![Want::Segment(part.entry)]));
        };
        let segment = segment?;
        let Some(index) = segment.index.block_at_timestamp(self.timestamp) else { return Ok(Progress::Ready(None)) };
        let index = index.saturating_sub(usize::from(mutant("a search by time ends one block early")));
        let Some(block) = part.block(index, stock) else {
            return Ok(Progress::Wait(vec![Want::Block(segment, index)]));
        };
        let block = block.as_ref().map_err(Clone::clone)?;
        // A block's bounds need not be tight: if all its records are older, the one after it is the first that is not.
        let after = Lsn(block.meta().base_lsn.0.saturating_add(block.meta().record_count.into()));
        let found = block.find_timestamp(self.timestamp).unwrap_or(after);
        Ok(Progress::Ready(Some(found).filter(|lsn| *lsn < head.next_lsn)))
    }

    /// The segment that the search ended in.
    pub(super) fn into_part(self) -> Option<Part> {
        self.part
    }
}
