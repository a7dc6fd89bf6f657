//! One segment on its way from records to a stored object.
use super::layout::Layout;
use super::parts::Parts;
use super::retry::Failures;
use crate::boundary::{Key, MonoTime};
use crate::format::catalog::SegmentEntry;
use crate::format::segment::{BlockBuilder, RawBlock, Record, SealedBlock, Trailer};
use crate::ids::{Lsn, TimestampMs};
use bytes::Bytes;

/// A block between its last record and its place in the segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Block {
    /// Full; kept until it is encoded, so that the work can be repeated.
    Raw(RawBlock),
    Sealed(SealedBlock),
}

/// How far a segment has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// Takes records.
    Filling,
    /// Cut; some blocks are not encoded yet.
    Encoding,
    /// To be created at `at`.
    Ready { object: Object, at: MonoTime },
    /// A create is out.
    Creating(Object),
    /// All parts are laid out; once they are stored the upload is to be completed at `at`.
    InParts { object: Object, at: MonoTime },
    /// The completion of its upload is out.
    Completing(Object),
    /// The key is taken: its trailer must be read at `at` to see whether it is ours.
    Occupied { object: Object, at: MonoTime },
    /// That read is out.
    Verifying(Object),
    /// In the store under the key of this entry.
    Stored(SegmentEntry),
}

/// A segment's bytes under its final key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Object {
    pub(super) key: Key,
    /// The whole object; empty for one that is stored in parts.
    pub(super) pieces: Vec<Bytes>,
    pub(super) trailer: Trailer,
    pub(super) entry: SegmentEntry,
    /// When its upload could begin.
    pub(super) since: MonoTime,
    pub(super) failures: Failures,
}

/// A run of records that is stored and committed as one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Segment {
    /// Position among all segments of this writer; never reused.
    pub(super) serial: u64,
    pub(super) base: Lsn,
    pub(super) next: Lsn,
    pub(super) raw_bytes: u64,
    /// Bytes held in memory.
    pub(super) held: u64,
    /// When its first record was accepted.
    pub(super) since: MonoTime,
    pub(super) created: TimestampMs,
    builder: Option<BlockBuilder>,
    pub(super) blocks: Vec<Block>,
    pub(super) unsealed: usize,
    /// Its first bytes, from its first sealed block until all are laid out.
    pub(super) layout: Option<Layout>,
    /// Its upload, where it is stored in parts.
    pub(super) parts: Option<Parts>,
    pub(super) stage: Stage,
}

impl Segment {
    pub(super) fn new(serial: u64, base: Lsn, since: MonoTime, created: TimestampMs) -> Self {
        Self {
            serial,
            base,
            next: base,
            raw_bytes: 0,
            held: 0,
            since,
            created,
            builder: None,
            blocks: Vec::new(),
            unsealed: 0,
            layout: None,
            parts: None,
            stage: Stage::Filling,
        }
    }

    pub(super) fn records(&self) -> u64 {
        self.next.0 - self.base.0
    }

    /// Whether a record of `len` encoded bytes goes into the open block.
    pub(super) fn fits_block(&self, len: u64, target: usize) -> bool {
        self.builder.as_ref().is_some_and(|builder| builder.fits(len, target))
    }

    /// Takes one record; `true` when that closed a block.
    pub(super) fn push(&mut self, record: &Record, target: usize, capacity: usize) -> bool {
        let len = record.encoded_len();
        let closed = match &self.builder {
            Some(builder) if !builder.fits(len, target) => self.close_block(),
            _ => false,
        };
        self.builder.get_or_insert_with(|| BlockBuilder::new(self.next, capacity)).push(record);
        self.next.0 += 1;
        self.raw_bytes += len;
        self.held += len;
        closed
    }

    /// Closes the block that takes records, if there is one.
    pub(super) fn close_block(&mut self) -> bool {
        let Some(builder) = self.builder.take() else { return false };
        self.blocks.push(Block::Raw(builder.finish()));
        self.unsealed += 1;
        true
    }

    /// Raw bytes of the block that takes records.
    pub(super) fn open_block_len(&self) -> usize {
        self.builder.as_ref().map_or(0, BlockBuilder::len)
    }

    /// Puts an encoded block in its place; gives the change of bytes held as (freed, taken).
    pub(super) fn seal(&mut self, block: usize, sealed: SealedBlock) -> (u64, u64) {
        let Some(place) = self.blocks.get_mut(block) else { return (0, 0) };
        let Block::Raw(raw) = place else { return (0, 0) };
        let (freed, taken) = (raw.bytes.len() as u64, sealed.stored.len() as u64);
        *place = Block::Sealed(sealed);
        self.unsealed -= 1;
        self.held = self.held - freed + taken;
        (freed, taken)
    }

    /// Block `index`, once it is encoded.
    pub(super) fn sealed(&self, index: usize) -> Option<&SealedBlock> {
        match self.blocks.get(index)? {
            Block::Sealed(sealed) => Some(sealed),
            Block::Raw(_) => None,
        }
    }

    /// Whether no record and no block is missing any more.
    pub(super) fn is_complete(&self) -> bool {
        self.stage == Stage::Encoding && self.unsealed == 0
    }
}
