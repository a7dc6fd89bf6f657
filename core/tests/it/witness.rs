//! Watches the head of a log from outside and remembers everything that ever was committed.
use crate::bucket::Bucket;
use bucketlog_core::format::catalog::{Head, Page, SegmentEntry, Step};
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::format::segment::{BlockCodec, open_whole};
use bucketlog_core::ids::{Epoch, Lsn, WriterId};
use bytes::Bytes;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Witness {
    bytes: Bytes,
    head: Option<Head>,
    codec: BlockCodec,
    /// Every record that was in the log at some moment.
    pub(crate) log: BTreeMap<Lsn, Bytes>,
    /// The segments that held them: first and last LSN.
    pub(crate) segments: BTreeMap<Lsn, Lsn>,
    /// Owners in the order of their epochs.
    owners: Vec<(Epoch, WriterId)>,
    /// Writers that know that they owned the log; others may still be claiming it.
    pub(crate) opened: Vec<WriterId>,
}

impl Witness {
    /// Looks at the head, checks the way from the one seen before, and reads what is new.
    pub(crate) fn look(&mut self, bucket: &Bucket, keys: &LogKeys) {
        let Some(bytes) = bucket.body(keys.head()).filter(|bytes| **bytes != self.bytes) else { return };
        let head = Head::decode(bytes).unwrap();
        let new = self.head.as_ref().map_or(head.oldest_lsn, |old| old.next_lsn);
        self.check_step(&head);
        for root in head.sections.iter().flatten() {
            assert!(bucket.body(&keys.page(root)).is_some(), "a page precedes the head that leads to it");
        }
        let mut next = new;
        while next < head.next_lsn && next >= head.oldest_lsn {
            let entry = locate(bucket, keys, &head, next);
            assert_eq!(entry.base_lsn, next, "segments are dense");
            self.read(bucket, keys, &entry);
            next = Lsn(entry.last_lsn.0 + 1);
        }
        (self.bytes, self.head) = (bytes.clone(), Some(head));
    }

    /// What one change of the head may do.
    fn check_step(&mut self, head: &Head) {
        let owner = (head.writer_epoch, head.writer_id);
        if let Some(old) = &self.head {
            assert!(head.generation > old.generation, "every head has its own generation");
            assert!(head.next_lsn >= old.next_lsn, "the log never shrinks");
            let claimed = owner != (old.writer_epoch, old.writer_id);
            assert_eq!(head.writer_epoch.0, old.writer_epoch.0 + u64::from(claimed), "a claim is epoch + 1, once");
            assert!(!claimed || head.next_lsn == old.next_lsn, "a claim commits nothing");
        }
        if self.owners.last() != Some(&owner) {
            let last = self.owners.last().map(|(_, writer)| *writer);
            let fenced = last != Some(owner.1) && self.opened.contains(&owner.1);
            assert!(!fenced, "a fenced writer took the log back");
            self.owners.push(owner);
        }
    }

    fn read(&mut self, bucket: &Bucket, keys: &LogKeys, entry: &SegmentEntry) {
        let key = keys.segment(entry.base_lsn, entry.writer_epoch, &entry.segment_id);
        let object = bucket.body(&key).expect("a committed segment exists");
        let index = open_whole(object, true).unwrap();
        for (i, block) in index.entries.iter().enumerate() {
            let range = index.block_range(i).unwrap();
            let bytes = object.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap());
            let stored = index.block_payload(i, &bytes).unwrap();
            let decoded = self.codec.open(&block.meta, &stored, entry.codec, entry.hash, range.start + 64).unwrap();
            for record in decoded.records() {
                let old = self.log.insert(record.lsn, Bytes::copy_from_slice(record.value));
                assert!(old.is_none(), "LSN {} was committed twice", record.lsn);
            }
        }
        self.segments.insert(entry.base_lsn, entry.last_lsn);
    }

    /// Whether that writer held that epoch.
    pub(crate) fn saw_owner(&self, epoch: Epoch, writer: WriterId) -> bool {
        self.owners.contains(&(epoch, writer))
    }

    /// Whether one segment holds both.
    pub(crate) fn in_one_segment(&self, first: Lsn, last: Lsn) -> bool {
        self.segments.range(..=first).next_back().is_some_and(|(_, end)| *end >= last)
    }
}

/// The segment that holds `lsn`.
pub(crate) fn locate(bucket: &Bucket, keys: &LogKeys, head: &Head, lsn: Lsn) -> SegmentEntry {
    let mut step = head.locate(lsn);
    while let Step::Page(reference) = step {
        let page = bucket.body(&keys.page(&reference)).expect("a reachable page exists");
        step = Page::decode(page).unwrap().locate(lsn);
    }
    let Step::Segment(entry) = step else { panic!("LSN {lsn} is not covered") };
    entry
}
