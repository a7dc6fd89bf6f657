//! The history of the log, rebuilt from every change of its head, and what may be said about it.
//!
//! The rules of this file look at the store alone: they know nothing of the machines but the names of writers.
use super::tree::Tree;
use super::{Violation, ensure};
use crate::store::Store;
use crate::value::Value;
use bucketlog_core::format::catalog::{Head, SegmentEntry};
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::ids::{Epoch, Generation, Lsn, TimestampMs, WriterId};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Who changed the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Author {
    /// A writer, and the highest generation it has been told of, if it has been told of any.
    Writer(WriterId, Option<Generation>),
    /// An initialiser, and the highest generation it has been told of, if it has been told of any.
    Initializer(Option<Generation>),
    /// An operator, or a rival that is not simulated step by step.
    Outsider,
}

/// A claim that took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The owner.
    pub writer: WriterId,
    /// Where its records begin.
    pub next_lsn: Lsn,
}

/// Everything that was ever committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Log {
    head: Option<Head>,
    bytes: Bytes,
    /// The head's state before its last change.
    previous: Option<Bytes>,
    segments: Vec<SegmentEntry>,
    /// Where the log begins.
    base: Lsn,
    records: Vec<Value>,
    /// Their timestamps, which never go back.
    times: Vec<TimestampMs>,
    /// Chained hash of the first `n` records.
    hashes: Vec<u64>,
    places: BTreeMap<Value, Lsn>,
    claims: BTreeMap<Epoch, Claim>,
    /// Records of which a writer said that they are not committed and never will be.
    never: BTreeSet<Value>,
    /// Beginnings of which an initialiser said that they are none and never will be.
    never_begun: BTreeSet<Lsn>,
    restored: bool,
    /// What was committed when the head was deleted.
    buried: BTreeSet<Value>,
    deleted: bool,
    /// Times that the head changed, by whosoever's hand.
    moves: u32,
}

impl Log {
    /// The end of what is committed.
    #[must_use]
    pub fn next_lsn(&self) -> Lsn {
        Lsn(self.base.0 + self.records.len() as u64)
    }

    /// The head now in the store.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The bytes of the head now in the store.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The head's bytes before its last change.
    #[must_use]
    pub fn previous(&self) -> Option<&Bytes> {
        self.previous.as_ref()
    }

    /// Whether an older head was ever put back.
    #[must_use]
    pub fn was_restored(&self) -> bool {
        self.restored
    }

    /// Whether the head was ever deleted.
    #[must_use]
    pub fn was_deleted(&self) -> bool {
        self.deleted
    }

    /// Whether an operator ever replaced or deleted the head: then two histories have been told.
    #[must_use]
    pub fn was_tampered_with(&self) -> bool {
        self.restored || self.deleted
    }

    /// Times that the head changed.
    #[must_use]
    pub fn moves(&self) -> u32 {
        self.moves
    }

    /// The record at a position.
    #[must_use]
    pub fn record(&self, lsn: Lsn) -> Option<Value> {
        self.records.get(self.position(lsn)?).copied()
    }

    /// The first record at or after a time, whether retention has passed it or not.
    #[must_use]
    pub fn find_time(&self, time: TimestampMs) -> Lsn {
        Lsn(self.base.0 + self.times.partition_point(|found| *found < time) as u64)
    }

    /// The timestamp of the record at a position.
    #[must_use]
    pub fn time(&self, lsn: Lsn) -> Option<TimestampMs> {
        self.times.get(self.position(lsn)?).copied()
    }

    fn position(&self, lsn: Lsn) -> Option<usize> {
        usize::try_from(lsn.0.checked_sub(self.base.0)?).ok()
    }

    /// Where a record was committed.
    #[must_use]
    pub fn place(&self, value: Value) -> Option<Lsn> {
        self.places.get(&value).copied()
    }

    /// Who claimed an epoch.
    #[must_use]
    pub fn claim(&self, epoch: Epoch) -> Option<&Claim> {
        self.claims.get(&epoch)
    }

    /// Chained hash of the records below a position.
    #[must_use]
    pub fn hash_at(&self, lsn: Lsn) -> Option<u64> {
        match self.position(lsn)?.checked_sub(1) {
            None => Some(0),
            Some(last) => self.hashes.get(last).copied(),
        }
    }

    /// A writer says that a record is not committed and never will be.
    pub(crate) fn never(&mut self, value: Value) -> Result<(), Violation> {
        ensure(self.place(value).is_none(), "what is called not committed is not in the log", || value)?;
        // Who meets a log that somebody began anew can't know what the old one held.
        let is_buried = self.head.is_none() && self.buried.contains(&value);
        ensure(!is_buried, "what went with a deleted head is not called not committed", || value)?;
        self.never.insert(value);
        Ok(())
    }

    /// An initialiser says that its head is not there and never will be.
    pub(crate) fn never_begins(&mut self, lsn: Lsn) -> Result<(), Violation> {
        let has_begun = self.head.is_some() && self.base == lsn;
        ensure(!has_begun, "what is called not created is not there", || lsn)?;
        self.never_begun.insert(lsn);
        Ok(())
    }

    /// The head in the store changed.
    pub(crate) fn changed(&mut self, store: &Store, keys: &LogKeys, author: Author) -> Result<(), Violation> {
        let (bytes, _) = store.object(keys.head()).ok_or_else(|| Violation::new("the head stays", "it is gone"))?;
        if *bytes == self.bytes {
            return Ok(());
        }
        let head = Head::decode(bytes).map_err(|error| Violation::new("the head is sound", error))?;
        self.moves += 1;
        if self.head.is_none() {
            Self::check_birth(&head, author)?;
        }
        if self.head.is_none() && head.writer_epoch == Epoch(0) {
            return self.take_birth(head, bytes.clone());
        }
        let before = self.head.take().unwrap_or_else(|| Head::initial(head.identity, head.layout, Lsn(0)));
        Self::check_order(&before, &head, author)?;
        if head.writer_epoch == before.writer_epoch {
            Self::check_commit(&before, &head, author)?;
            self.take_records(Tree { store, keys, head: &head })?;
        } else {
            self.take_claim(&before, &head, author)?;
        }
        self.previous = Some(std::mem::replace(&mut self.bytes, bytes.clone())).filter(|bytes| !bytes.is_empty());
        self.head = Some(head);
        Ok(())
    }

    fn check_birth(head: &Head, author: Author) -> Result<(), Violation> {
        let seen = match author {
            Author::Writer(_, seen) | Author::Initializer(seen) => seen,
            Author::Outsider => None,
        };
        ensure(seen.is_none(), "nobody creates a head again that it has seen", || head.next_lsn)?;
        let is_initializer = matches!(author, Author::Initializer(_));
        let is_new = head.writer_epoch == Epoch(0);
        ensure(is_initializer == is_new, "writers claim, initialisers create", || head.writer_epoch)
    }

    /// An initialiser created the head.
    fn take_birth(&mut self, head: Head, bytes: Bytes) -> Result<(), Violation> {
        let expected = Head::initial(head.identity, head.layout, head.next_lsn);
        ensure(head == expected, "a new head is empty", || format!("{head:?}"))?;
        let is_denied = self.never_begun.contains(&head.next_lsn);
        ensure(!is_denied, "what was called not created never appears", || head.next_lsn)?;
        (self.base, self.head, self.bytes) = (head.next_lsn, Some(head), bytes);
        Ok(())
    }

    fn check_order(before: &Head, head: &Head, author: Author) -> Result<(), Violation> {
        let (old, new) = (before.generation, head.generation);
        ensure(new > old, "generations grow", || format!("{old} was followed by {new}"))?;
        ensure(head.oldest_lsn >= before.oldest_lsn, "retention only moves forward", || head.oldest_lsn)?;
        match author {
            Author::Initializer(_) => Err(Violation::new("an initialiser changes no head", new)),
            Author::Writer(_, Some(seen)) => ensure(new > seen, "who saw a newer head refuses an older one", || {
                format!("generation {seen} was seen, yet {new} was written")
            }),
            Author::Writer(_, None) | Author::Outsider => Ok(()),
        }
    }

    fn take_claim(&mut self, before: &Head, head: &Head, author: Author) -> Result<(), Violation> {
        let (writer, epoch) = (head.writer_id, head.writer_epoch);
        let expected = before.takeover(writer).map_err(|error| Violation::new("a claim is possible", error))?;
        ensure(*head == expected, "a claim changes nothing but epoch, owner and generation", || format!("{head:?}"))?;
        if let Author::Writer(by, _) = author {
            ensure(by == writer, "a claim names the writer that made it", || format!("{by} claimed for {writer}"))?;
        }
        let claim = Claim { writer, next_lsn: head.next_lsn };
        let other = self.claims.insert(epoch, claim);
        ensure(other.is_none(), "an epoch has one owner", || format!("epoch {epoch} was claimed twice"))
    }

    fn check_commit(before: &Head, head: &Head, author: Author) -> Result<(), Violation> {
        ensure(head.writer_id == before.writer_id, "the owner changes only with the epoch", || head.writer_id)?;
        ensure(head.next_lsn >= before.next_lsn, "the log only grows", || head.next_lsn)?;
        if let Author::Writer(by, _) = author {
            ensure(by == head.writer_id, "nobody commits but the owner", || {
                format!("{by} committed under epoch {} of {}", head.writer_epoch, head.writer_id)
            })?;
        }
        Ok(())
    }

    fn take_records(&mut self, tree: Tree<'_>) -> Result<(), Violation> {
        while self.next_lsn() < tree.head.next_lsn {
            let entry = tree.find(self.next_lsn())?;
            ensure(entry.base_lsn == self.next_lsn(), "LSNs are dense", || format!("{entry:?}"))?;
            let records = tree.records(&entry, false)?;
            let mut before = None;
            for (value, time) in records {
                ensure(value.follows(before), "a batch is committed whole", || value)?;
                before = Some(value);
                self.take_record(value, time)?;
            }
            ensure(before.is_none_or(Value::ends_batch), "a batch is committed whole", || format!("{entry:?}"))?;
            self.segments.push(entry);
        }
        Ok(())
    }

    fn take_record(&mut self, value: Value, time: TimestampMs) -> Result<(), Violation> {
        let lsn = self.next_lsn();
        ensure(self.times.last().is_none_or(|last| *last <= time), "timestamps never go back", || lsn)?;
        if let Some(first) = self.places.insert(value, lsn) {
            return Err(Violation::new("nothing is committed twice", format!("{value} at {first} and at {lsn}")));
        }
        ensure(!self.never.contains(&value), "what was called not committed never appears", || {
            format!("{value} appeared at {lsn}")
        })?;
        self.hashes.push(value.chain(self.hashes.last().copied().unwrap_or(0)));
        self.records.push(value);
        self.times.push(time);
        Ok(())
    }

    /// An operator copied the head onto itself.
    pub(crate) fn touched(&mut self) {
        self.moves += 1;
    }

    /// An operator deleted the head: nothing is in the log any more.
    pub(crate) fn deleted(&mut self) {
        let buried = std::mem::take(&mut self.places).into_keys();
        let buried = self.buried.iter().copied().chain(buried).collect();
        let before = std::mem::take(self);
        *self = Self {
            never: before.never,
            never_begun: before.never_begun,
            restored: before.restored,
            moves: before.moves + 1,
            buried,
            deleted: true,
            ..Self::default()
        };
    }

    /// An operator put an older head back: what came after it never was.
    pub(crate) fn restored(&mut self, bytes: Bytes) -> Result<Generation, Violation> {
        let head = Head::decode(&bytes).map_err(|error| Violation::new("the head is sound", error))?;
        let generation = head.generation;
        self.moves += 1;
        let end = self.position(head.next_lsn).unwrap_or(0);
        self.records.truncate(end);
        self.times.truncate(end);
        self.hashes.truncate(end);
        self.segments.retain(|segment| segment.last_lsn < head.next_lsn);
        self.places.retain(|_, lsn| *lsn < head.next_lsn);
        self.claims.retain(|epoch, _| *epoch <= head.writer_epoch);
        (self.head, self.bytes, self.previous, self.restored) = (Some(head), bytes, None, true);
        Ok(generation)
    }

    /// Reads the whole log back from its bytes and compares it with its history.
    pub(crate) fn check_all(&self, store: &Store, keys: &LogKeys) -> Result<(), Violation> {
        let Some(head) = &self.head else { return Ok(()) };
        let tree = Tree { store, keys, head };
        let segments = tree.segments()?;
        let first = self.segments.len().checked_sub(segments.len());
        let known = first.and_then(|first| self.segments.get(first..));
        ensure(known == Some(&segments), "no committed segment is lost or changed", || format!("{segments:?}"))?;
        let begin = segments.first().map_or(head.next_lsn, |segment| segment.base_lsn);
        ensure(begin <= head.oldest_lsn, "LSNs are dense", || format!("the log begins at {begin}"))?;
        for segment in &segments {
            for (lsn, (value, time)) in (segment.base_lsn.0..).zip(tree.records(segment, true)?) {
                let known = self.record(Lsn(lsn)).zip(self.time(Lsn(lsn)));
                ensure(known == Some((value, time)), "no committed record is lost or changed", || {
                    format!("{value} at {lsn}")
                })?;
            }
        }
        Ok(())
    }
}
