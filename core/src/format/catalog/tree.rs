//! How a head grows: takeover, append, and the way down to a segment.
use super::entry::{Entry, SegmentEntry, Span, locate, locate_timestamp};
use super::head::Head;
use super::page::{Seal, SealedPage};
use super::{Presence, Step};
use crate::format::{FormatError, Section};
use crate::ids::{Epoch, Generation, Lsn, TimestampMs, WriterId};
use crate::limits::MAX_SECTIONS;

/// Why a head can't take a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The head changed 2^64-1 times.
    #[error("the generation counter is exhausted")]
    GenerationExhausted,
    /// The head was claimed 2^64-1 times.
    #[error("the epoch counter is exhausted")]
    EpochExhausted,
    /// 2^64-1 segments were committed, by the head's own count.
    #[error("the segment counter is exhausted")]
    SegmentCountExhausted,
    /// LSN 2^64-2 is taken.
    #[error("the partition is full: its last LSN is taken")]
    LsnExhausted,
    /// There would be a gap or an overlap.
    #[error("the segment starts at LSN {found}, the log goes on at {expected}")]
    NotContiguous {
        /// The head's next LSN.
        expected: Lsn,
        /// The segment's base LSN.
        found: Lsn,
    },
    /// Time would go back.
    #[error("the segment's first timestamp {found} is below the log's last {last}")]
    TimestampOrder {
        /// The last committed segment's max timestamp.
        last: TimestampMs,
        /// The segment's min timestamp.
        found: TimestampMs,
    },
    /// The segment belongs to another incarnation of the writer.
    #[error("the segment was written under epoch {found}, the head's is {head}")]
    WrongEpoch {
        /// The head's epoch.
        head: Epoch,
        /// The segment's epoch.
        found: Epoch,
    },
    /// The segment belongs to another writer.
    #[error("the segment names writer {found}, the head's is {head}")]
    WrongWriter {
        /// The head's owner.
        head: WriterId,
        /// The segment's writer tag.
        found: WriterId,
    },
    /// The entry breaks a rule by itself; the offset is relative to the entry.
    #[error("the segment entry is invalid: {0}")]
    InvalidEntry(FormatError),
    /// Section 64 would be full, and a level-64 page can't be (objlog formats 9.9).
    #[error("the catalog tree is full")]
    IndexFull,
    /// An owner needs a name.
    #[error("the writer id is zero")]
    ZeroWriter,
}

impl Head {
    /// The head as `writer` claims it: epoch + 1, generation + 1, a new owner (objlog protocol 3).
    ///
    /// # Errors
    /// [`TreeError::ZeroWriter`], [`TreeError::EpochExhausted`], [`TreeError::GenerationExhausted`].
    pub fn takeover(&self, writer: WriterId) -> Result<Self, TreeError> {
        if writer.is_zero() {
            return Err(TreeError::ZeroWriter);
        }
        let epoch = self.writer_epoch.0.checked_add(1).ok_or(TreeError::EpochExhausted)?;
        let generation = self.next_generation()?;
        Ok(Self { writer_epoch: Epoch(epoch), writer_id: writer, generation, ..self.clone() })
    }

    /// Commits one segment, in place (objlog protocol 6). Pages that it seals are pushed to `pages`, leaf first, then
    /// ascending levels; they must be stored before the head. The cost depends on the pages sealed, not on the log.
    ///
    /// Several appends to one head followed by one [`Head::encode`] give the objects of as many single commits.
    ///
    /// # Errors
    /// Any [`TreeError`] but [`TreeError::ZeroWriter`] and [`TreeError::EpochExhausted`]. On error nothing changed.
    pub fn append(&mut self, entry: SegmentEntry, pages: &mut Vec<SealedPage>) -> Result<(), TreeError> {
        let generation = self.next_generation()?;
        let next_lsn = self.check_next(&entry)?;
        let segment_count = self.segment_count.checked_add(1).ok_or(TreeError::SegmentCountExhausted)?;
        if self.is_index_full() {
            return Err(TreeError::IndexFull);
        }
        self.generation = generation;
        self.next_lsn = next_lsn;
        self.segment_count = segment_count;
        self.reachable_segment_count = self.reachable_segment_count.saturating_add(1);
        self.last_segment = Some(entry);
        self.active.push(entry);
        if is_full(self.active.len(), self.layout.leaf_limit) {
            self.seal_full_nodes(pages);
        }
        Ok(())
    }

    /// One step towards the segment that holds `lsn`; [`Step::Missing`] below the oldest LSN and from the next LSN on.
    #[must_use]
    pub fn locate(&self, lsn: Lsn) -> Step {
        let section = self.sections.iter().rev().find(|section| section.last().is_some_and(|root| root.seq_hi >= lsn));
        match section {
            Some(section) => locate(section, lsn),
            None => locate(&self.active, lsn),
        }
    }

    /// One step towards the earliest segment with a record at or after `timestamp`; [`Step::Missing`] when every
    /// readable record is older.
    #[must_use]
    pub fn locate_timestamp(&self, timestamp: TimestampMs) -> Step {
        let section = self
            .sections
            .iter()
            .rev()
            .find(|section| section.last().is_some_and(|root| root.max_timestamp >= timestamp));
        match section {
            Some(section) => locate_timestamp(section, timestamp),
            None => locate_timestamp(&self.active, timestamp),
        }
    }

    /// Whether this very segment is committed: it is the last one, readable or not, or the readable tree leads to it.
    #[must_use]
    pub fn presence(&self, segment: &SegmentEntry) -> Presence {
        if self.last_segment.as_ref() == Some(segment) {
            return Presence::Present;
        }
        self.locate(segment.base_lsn).presence(segment)
    }

    /// The generation of the next change.
    pub(super) fn next_generation(&self) -> Result<Generation, TreeError> {
        self.generation.0.checked_add(1).map(Generation).ok_or(TreeError::GenerationExhausted)
    }

    /// What pages sealed by the change that led to this head have in common.
    pub(super) fn seal(&self) -> Seal {
        Seal {
            identity: self.identity,
            hash: self.layout.hash,
            generation: self.generation,
            writer_epoch: self.writer_epoch,
        }
    }

    /// What the roots cover together; `None` when nothing is readable.
    pub(super) fn covered(&self) -> Option<Span> {
        let sections = self.sections.iter().rev().flatten().map(Entry::span);
        sections.chain(self.active.iter().map(Entry::span)).reduce(Span::join)
    }

    /// The entry is valid and goes on where the log ends. Returns the LSN after it.
    fn check_next(&self, entry: &SegmentEntry) -> Result<Lsn, TreeError> {
        if self.next_lsn == Lsn::EXHAUSTED {
            return Err(TreeError::LsnExhausted);
        }
        entry.check().map_err(|flaw| TreeError::InvalidEntry(flaw.within(Section::ActiveEntries, 0)))?;
        if entry.writer_epoch != self.writer_epoch {
            return Err(TreeError::WrongEpoch { head: self.writer_epoch, found: entry.writer_epoch });
        }
        if entry.writer_tag != self.writer_id {
            return Err(TreeError::WrongWriter { head: self.writer_id, found: entry.writer_tag });
        }
        if entry.base_lsn != self.next_lsn {
            return Err(TreeError::NotContiguous { expected: self.next_lsn, found: entry.base_lsn });
        }
        if let Some(last) = self.last_timestamp().filter(|last| entry.min_timestamp < *last) {
            return Err(TreeError::TimestampOrder { last, found: entry.min_timestamp });
        }
        entry.last_lsn.checked_add(1).ok_or(TreeError::LsnExhausted)
    }

    /// The log's last timestamp. The formats don't bind the last root's to the last segment's, but a head in which time
    /// goes back from one root to the next would be refused by every reader.
    pub(crate) fn last_timestamp(&self) -> Option<TimestampMs> {
        let root = self.sections.iter().find_map(|section| section.last()).map(|root| root.max_timestamp);
        self.last_segment.map(|last| last.max_timestamp).max(root)
    }

    /// Whether one more segment would fill every node, section 64 included.
    fn is_index_full(&self) -> bool {
        let full_after_one = |len: usize, limit: u32| is_full(len.saturating_add(1), limit);
        self.sections.len() >= usize::from(MAX_SECTIONS)
            && full_after_one(self.active.len(), self.layout.leaf_limit)
            && self.sections.iter().all(|section| full_after_one(section.len(), self.layout.index_limit))
    }

    /// Seals the active segments into a leaf, and each section that its reference fills into a page one level up.
    fn seal_full_nodes(&mut self, pages: &mut Vec<SealedPage>) {
        let mut sealed = self.seal().page(0, &self.active);
        self.active.clear();
        for (index, level) in (0_usize..).zip(1..=MAX_SECTIONS) {
            self.push_root(index, &sealed);
            pages.push(sealed);
            let Some(section) = self.sections.get(index).filter(|s| is_full(s.len(), self.layout.index_limit)) else {
                return;
            };
            sealed = self.seal().page(level, section);
            if let Some(section) = self.sections.get_mut(index) {
                section.clear();
            }
        }
    }

    fn push_root(&mut self, index: usize, sealed: &SealedPage) {
        match self.sections.get_mut(index) {
            Some(section) => section.push(sealed.reference),
            None => self.sections.push(vec![sealed.reference]),
        }
    }
}

fn is_full(len: usize, limit: u32) -> bool {
    u32::try_from(len).is_ok_and(|len| len >= limit)
}
