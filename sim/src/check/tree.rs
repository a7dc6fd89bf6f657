//! The log as its bytes in the store say it is.
use super::Violation;
use crate::store::Store;
use crate::value::Value;
use bucketlog_core::format::catalog::{Head, Page, PageEntries, PageRef, SegmentEntry, Step};
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::format::segment::{BlockCodec, open_whole};
use bucketlog_core::ids::{Epoch, Lsn, TimestampMs};
use std::fmt::Display;

const REACHABLE: &str = "reachable objects exist and are sound";

/// A log in a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree<'a> {
    pub(super) store: &'a Store,
    pub(super) keys: &'a LogKeys,
    pub(super) head: &'a Head,
}

impl Tree<'_> {
    /// The segment that holds `lsn`.
    pub(super) fn find(&self, lsn: Lsn) -> Result<SegmentEntry, Violation> {
        let (mut step, mut parent_epoch) = (self.head.locate(lsn), self.head.writer_epoch);
        loop {
            match step {
                Step::Segment(entry) => return Ok(entry),
                Step::Page(reference) => {
                    let page = self.page(&reference, parent_epoch)?;
                    (step, parent_epoch) = (page.locate(lsn), page.writer_epoch);
                }
                Step::Missing => return Err(Violation::new("LSNs are dense", format!("no segment holds {lsn}"))),
            }
        }
    }

    /// Every segment, in order.
    pub(super) fn segments(&self) -> Result<Vec<SegmentEntry>, Violation> {
        let mut segments = Vec::new();
        for reference in self.head.sections.iter().rev().flatten() {
            self.below(reference, self.head.writer_epoch, &mut segments)?;
        }
        segments.extend_from_slice(&self.head.active);
        Ok(segments)
    }

    fn below(&self, reference: &PageRef, epoch: Epoch, segments: &mut Vec<SegmentEntry>) -> Result<(), Violation> {
        let page = self.page(reference, epoch)?;
        match &page.entries {
            PageEntries::Leaf(entries) => segments.extend_from_slice(entries),
            PageEntries::Index(references) => {
                for reference in references {
                    self.below(reference, page.writer_epoch, segments)?;
                }
            }
        }
        Ok(())
    }

    fn page(&self, reference: &PageRef, parent_epoch: Epoch) -> Result<Page, Violation> {
        let key = self.keys.page(reference);
        let (body, _) = self.store.object(&key).ok_or_else(|| unsound(&key, "it is missing"))?;
        let page = Page::decode(body).map_err(|error| unsound(&key, error))?;
        page.check(reference, parent_epoch, &self.head.identity).map_err(|error| unsound(&key, error))?;
        Ok(page)
    }

    /// The records of a segment, with their timestamps.
    pub(super) fn records(
        &self,
        entry: &SegmentEntry,
        verify_hash: bool,
    ) -> Result<Vec<(Value, TimestampMs)>, Violation> {
        let key = self.keys.segment(entry.base_lsn, entry.writer_epoch, &entry.segment_id);
        let (body, _) = self.store.object(&key).ok_or_else(|| unsound(&key, "it is missing"))?;
        let index = open_whole(body, verify_hash).map_err(|error| unsound(&key, error))?;
        let (mut records, mut codec) = (Vec::new(), BlockCodec::new());
        for (i, block) in index.entries.iter().enumerate() {
            let range = index.block_range(i).ok_or_else(|| unsound(&key, "a block lies nowhere"))?;
            let position = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
            let bytes = body.slice(position(range.start)..position(range.end));
            let stored = index.block_payload(i, &bytes).map_err(|error| unsound(&key, error))?;
            let decoded = codec.open(&block.meta, &stored, entry.codec, entry.hash, range.start);
            let decoded = decoded.map_err(|error| unsound(&key, error))?;
            for record in decoded.records() {
                let expected = entry.base_lsn.0 + records.len() as u64;
                let value = Value::decode(record.value).filter(|_| record.lsn.0 == expected);
                let value = value.ok_or_else(|| unsound(&key, "a record is none of ours"))?;
                records.push((value, record.timestamp));
            }
        }
        if records.len() as u64 != u64::from(entry.record_count) {
            return Err(unsound(&key, "its entry counts other records"));
        }
        Ok(records)
    }
}

fn unsound(key: &str, what: impl Display) -> Violation {
    Violation::new(REACHABLE, format!("{key}: {what}"))
}
