//! One segment on its way to a caller: what of it has arrived.
use super::ReadError;
use super::loads::{LoadKey, Want};
use super::stock::{OpenSegment, SegmentName, Stock, Value};
use crate::format::catalog::SegmentEntry;
use crate::format::segment::{Codec, DecodedBlock};
use crate::ids::Lsn;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Raw bytes that a stored byte is taken for before the index is known: logs compress about this well, and a wrong
/// guess only moves the point up to which a read loads ahead.
const EXPECTED_EXPANSION: u64 = 3;

/// How far a read may still load ahead.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) bytes: u64,
    pub(super) count: usize,
}

impl Room {
    pub(super) fn is_used_up(&self) -> bool {
        self.bytes == 0 || self.count == 0
    }

    fn take(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.count -= 1;
    }
}

/// A segment and the pieces of it that are held. A piece that can't be had holds its place by its error, which counts
/// only when the reading gets there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) entry: SegmentEntry,
    segment: Option<Result<Arc<OpenSegment>, ReadError>>,
    blocks: BTreeMap<usize, Result<Arc<DecodedBlock>, ReadError>>,
}

impl Part {
    pub(super) fn new(entry: SegmentEntry) -> Self {
        Self { entry, segment: None, blocks: BTreeMap::new() }
    }

    pub(super) fn name(&self) -> SegmentName {
        SegmentName::from(&self.entry)
    }

    /// Takes something loaded.
    pub(super) fn accept(&mut self, key: LoadKey, result: Result<Value, ReadError>, stock: &Stock) {
        match (key, result) {
            (LoadKey::Segment(_), Ok(Value::Segment(segment))) => self.adopt(segment, stock),
            (LoadKey::Segment(_), Err(error)) => self.segment = Some(Err(error)),
            (LoadKey::Block(_, index), Ok(Value::Block(_, _, block))) => drop(self.blocks.insert(index, Ok(block))),
            (LoadKey::Block(_, index), Err(error)) => drop(self.blocks.insert(index, Err(error))),
            _ => {}
        }
    }

    /// Takes the opened segment if it is what this part's own entry says: it may have been opened under another.
    fn adopt(&mut self, segment: Arc<OpenSegment>, stock: &Stock) {
        let checked = if segment.entry == self.entry {
            Ok(())
        } else {
            self.entry.check_trailer(&segment.index.trailer, stock.keys.partition())
        };
        self.segment = Some(checked.map(|()| segment).map_err(|error| stock.corrupt_segment(&self.entry, error)));
    }

    /// The opened segment, from the stock if it is there.
    pub(super) fn segment(&mut self, stock: &mut Stock) -> Option<Result<Arc<OpenSegment>, ReadError>> {
        if self.segment.is_none()
            && let Some(segment) = stock.segment(&self.name())
        {
            self.adopt(segment, stock);
        }
        self.segment.clone()
    }

    /// A block, from the stock if it is there.
    pub(super) fn block(&mut self, index: usize, stock: &mut Stock) -> Option<&Result<Arc<DecodedBlock>, ReadError>> {
        if !self.blocks.contains_key(&index) {
            self.blocks.insert(index, Ok(stock.block(self.name(), index)?));
        }
        self.blocks.get(&index)
    }

    /// The block that holds `lsn`, if it has arrived.
    pub(super) fn block_of(&self, lsn: Lsn) -> Result<Option<Arc<DecodedBlock>>, ReadError> {
        let Some(segment) = &self.segment else { return Ok(None) };
        let segment = segment.as_ref().map_err(Clone::clone)?;
        let Some(index) = segment.index.block_of(lsn) else { return Ok(None) };
        self.blocks.get(&index).cloned().transpose()
    }

    /// Lets go of the blocks that lie wholly below `lsn`.
    pub(super) fn release_below(&mut self, lsn: Lsn) {
        if let Some(Ok(segment)) = &self.segment
            && let Some(first) = segment.index.block_of(lsn)
        {
            self.blocks = self.blocks.split_off(&first);
        }
    }

    /// Asks for what is still missing of the records `from..end`, as far as there is room. Returns whether it is worth
    /// looking beyond this segment.
    pub(super) fn reach(
        &mut self,
        from: Lsn,
        end: Lsn,
        room: &mut Room,
        stock: &mut Stock,
        wants: &mut Vec<Want>,
    ) -> bool {
        let segment = match self.segment(stock) {
            Some(Ok(segment)) => segment,
            Some(Err(_)) => return false,
            None => {
                wants.push(Want::Segment(self.entry));
                room.take(self.expected_bytes(from, end));
                return true;
            }
        };
        let from = from.max(self.entry.base_lsn);
        let first = segment.index.block_of(from).unwrap_or(usize::MAX);
        for (index, block) in segment.index.entries.iter().enumerate().skip(first) {
            if block.meta.base_lsn >= end {
                break;
            }
            if room.is_used_up() {
                return false;
            }
            match self.block(index, stock) {
                Some(Ok(_)) => {}
                Some(Err(_)) => return false,
                None => wants.push(Want::Block(segment.clone(), index)),
            }
            let skipped = from.0.saturating_sub(block.meta.base_lsn.0);
            room.take(share(block.meta.raw_size.into(), skipped, block.meta.record_count));
        }
        true
    }

    fn expected_bytes(&self, from: Lsn, end: Lsn) -> u64 {
        let expansion = if self.entry.codec == Codec::None { 1 } else { EXPECTED_EXPANSION };
        let skipped = from.0.saturating_sub(self.entry.base_lsn.0);
        let unwanted = self.entry.last_lsn.0.saturating_add(1).saturating_sub(end.0);
        share(
            self.entry.size_bytes.saturating_mul(expansion),
            skipped.saturating_add(unwanted),
            self.entry.record_count,
        )
    }
}

/// The part of `bytes` that is left without `skipped` of `records` records of equal size.
fn share(bytes: u64, skipped: u64, records: u32) -> u64 {
    let left = u64::from(records).saturating_sub(skipped);
    let bytes = u128::from(bytes) * u128::from(left) / u128::from(records.max(1));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
