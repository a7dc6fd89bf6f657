//! Laying sealed blocks out as one object.
use super::index::write_index;
use super::trailer::index_length;
use super::{BlockEntry, Codec, FilePreamble, SealedBlock, SegmentHeader, Trailer};
use crate::format::FormatErrorKind::{Invalid, Mismatch, TooLarge};
use crate::format::{FormatError, FormatErrorKind, Hasher, Section};
use crate::limits::{FILE_PREAMBLE_LEN, MAX_BLOCK_COUNT, MIN_SHARED_PIECE_LEN, TRAILER_LEN};
use bytes::Bytes;
use std::collections::VecDeque;
use std::hash::Hash;

/// Lays sealed blocks out as one object. Its first bytes can be taken while blocks are still to come, so that they can be
/// stored in parts. Never fails for blocks that [`super::BlockCodec::seal`] made in LSN order with
/// the header's codec and hash.
///
/// The same blocks may be assembled again under another header: only preamble and trailer differ then.
#[derive(Clone, Debug)]
pub struct SegmentAssembler {
    header: SegmentHeader,
    entries: Vec<BlockEntry>,
    record_count: u32,
    pieces: Pieces,
}

impl SegmentAssembler {
    /// An assembler without blocks.
    #[must_use]
    pub fn new(header: SegmentHeader) -> Self {
        let pieces = Pieces { done: VecDeque::new(), open: Vec::new(), hasher: header.hash.hasher(), remaining: 0 };
        Self { header, entries: Vec::new(), record_count: 0, pieces }
    }

    /// Takes in the next block.
    ///
    /// # Errors
    /// A block that does not continue the ones before it, or that breaks a rule of objlog formats 1.2; the assembler
    /// is as before.
    pub fn push(&mut self, block: &SealedBlock) -> Result<(), FormatError> {
        let offset = self.entries.last().map_or(FILE_PREAMBLE_LEN as u64, BlockEntry::end);
        self.check(block, offset)?;
        self.record_count = self.record_count.saturating_add(block.meta.record_count);
        if self.entries.is_empty() {
            self.pieces.append(&self.preamble(block).encode());
        }
        let mut preamble = Vec::new();
        block.meta.write_preamble(&mut preamble);
        self.pieces.append(&preamble);
        self.pieces.append_shared(&block.stored);
        self.entries.push(BlockEntry { offset, meta: block.meta });
        Ok(())
    }

    /// Bytes laid out and not taken yet.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.pieces.remaining
    }

    /// Takes the next `len` bytes of the object as pieces that are not copied; `None` while fewer remain.
    pub fn take(&mut self, len: u64) -> Option<Vec<Bytes>> {
        self.pieces.take(len)
    }

    /// Adds index and trailer.
    ///
    /// # Errors
    /// No block was pushed: a segment can't be empty.
    pub fn finish(mut self) -> Result<EncodedSegment, FormatError> {
        let trailer = self.close()?;
        Ok(EncodedSegment { pieces: self.pieces.finish(), trailer })
    }

    /// [`SegmentAssembler::finish`] for an object that is taken part by part: index and trailer remain to be taken. No
    /// block may follow.
    ///
    /// # Errors
    /// No block was pushed: a segment can't be empty.
    pub fn close(&mut self) -> Result<Trailer, FormatError> {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else {
            return Err(error(Invalid, FILE_PREAMBLE_LEN as u64, "a segment has at least one block".into()));
        };
        let block_count = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let (block_index_offset, index_length) = (last.end(), index_length(block_count));
        let trailer = Trailer {
            partition: self.header.partition,
            codec: self.header.codec,
            hash: self.header.hash,
            base_lsn: first.meta.base_lsn,
            last_lsn: last.meta.last_lsn(),
            min_timestamp: first.meta.min_timestamp,
            max_timestamp: last.meta.max_timestamp,
            record_count: self.record_count,
            block_count,
            block_index_offset,
            block_index_length: u32::try_from(index_length).unwrap_or(u32::MAX),
            total_size: block_index_offset.saturating_add(index_length).saturating_add(TRAILER_LEN as u64),
            created: self.header.created,
            segment_id: self.header.segment_id,
            writer_tag: self.header.writer_tag,
            segment_hash: 0,
            trailer_hash: 0,
        };
        let mut index = Vec::new();
        write_index(&mut index, &self.entries, self.header.hash);
        self.pieces.append(&index);
        let trailer = Trailer { segment_hash: self.pieces.hasher.finish(), ..trailer }.sealed();
        self.pieces.append(&trailer.encode());
        Ok(trailer)
    }

    fn state(&self) -> (&SegmentHeader, &[BlockEntry], u64) {
        (&self.header, &self.entries, self.pieces.remaining)
    }

    fn preamble(&self, first: &SealedBlock) -> FilePreamble {
        FilePreamble {
            partition: self.header.partition,
            codec: self.header.codec,
            hash: self.header.hash,
            base_lsn: first.meta.base_lsn,
            segment_id: self.header.segment_id,
            writer_tag: self.header.writer_tag,
        }
    }

    fn check(&self, block: &SealedBlock, offset: u64) -> Result<(), FormatError> {
        let meta = &block.meta;
        meta.check(Section::BlockPreamble, offset.saturating_add(super::layout::META_OFFSET))?;
        if block.stored.len() as u64 != u64::from(meta.stored_size) {
            let detail = format!("stored_size is {}, but {} bytes are there", meta.stored_size, block.stored.len());
            return Err(error(Mismatch, offset, detail));
        }
        if self.header.codec == Codec::None && meta.stored_size != meta.raw_size {
            let detail = format!("an uncompressed block of {} bytes stores {}", meta.raw_size, meta.stored_size);
            return Err(error(Mismatch, offset, detail));
        }
        if self.entries.len() >= MAX_BLOCK_COUNT as usize {
            return Err(error(TooLarge, offset, format!("a segment has at most {MAX_BLOCK_COUNT} blocks")));
        }
        let Some(last) = self.entries.last() else {
            return Ok(());
        };
        if last.meta.last_lsn().checked_add(1) != Some(meta.base_lsn) {
            let detail = format!("block at LSN {} does not follow LSN {}", meta.base_lsn, last.meta.last_lsn());
            return Err(error(Invalid, offset, detail));
        }
        if meta.min_timestamp < last.meta.max_timestamp {
            let detail = format!("timestamp {} is below {} before it", meta.min_timestamp, last.meta.max_timestamp);
            return Err(error(Invalid, offset, detail));
        }
        if self.record_count.checked_add(meta.record_count).is_none() {
            return Err(error(TooLarge, offset, format!("a segment has at most {} records", u32::MAX)));
        }
        Ok(())
    }
}

/// What was laid out follows from the header and the blocks, so these, and what is left to take, are the state.
impl PartialEq for SegmentAssembler {
    fn eq(&self, other: &Self) -> bool {
        self.state() == other.state()
    }
}

impl Eq for SegmentAssembler {}

impl Hash for SegmentAssembler {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.state().hash(state);
    }
}

/// The rest of a segment, ready to be stored: the concatenation of `pieces` is the object but for what was taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EncodedSegment {
    /// Small pieces are merged; stored blocks of 64 KiB and more are shared, not copied.
    pub pieces: Vec<Bytes>,
    /// What the object's last 192 bytes say.
    pub trailer: Trailer,
}

impl EncodedSegment {
    /// The pieces in one: shared when there is only one, copied otherwise.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        match self.pieces.as_slice() {
            [only] => only.clone(),
            pieces => pieces.concat().into(),
        }
    }
}

/// The object so far, with its running hash, but for what was taken.
#[derive(Clone, Debug)]
struct Pieces {
    done: VecDeque<Bytes>,
    open: Vec<u8>,
    hasher: Hasher,
    remaining: u64,
}

impl Pieces {
    fn append(&mut self, bytes: &[u8]) {
        self.count(bytes);
        self.open.extend_from_slice(bytes);
    }

    fn count(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.remaining = self.remaining.saturating_add(bytes.len() as u64);
    }

    fn append_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < MIN_SHARED_PIECE_LEN {
            return self.append(bytes);
        }
        self.count(bytes);
        self.close();
        self.done.push_back(bytes.clone());
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.done.push_back(core::mem::take(&mut self.open).into());
        }
    }

    fn take(&mut self, len: u64) -> Option<Vec<Bytes>> {
        let left = self.remaining.checked_sub(len)?;
        self.close();
        let mut taken = Vec::new();
        while self.remaining > left {
            let mut piece = self.done.pop_front()?;
            let wanted = usize::try_from(self.remaining.saturating_sub(left)).unwrap_or(usize::MAX);
            if piece.len() > wanted {
                self.done.push_front(piece.split_off(wanted));
            }
            self.remaining = self.remaining.saturating_sub(piece.len() as u64);
            taken.push(piece);
        }
        Some(taken)
    }

    fn finish(mut self) -> Vec<Bytes> {
        self.close();
        self.done.into()
    }
}

fn error(kind: FormatErrorKind, offset: u64, detail: String) -> FormatError {
    FormatError::new(kind, Section::BlockPreamble, offset, detail)
}
