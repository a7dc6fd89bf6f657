//! The way from the head down to a segment.
use super::ReadError;
use super::stock::Stock;
use crate::format::catalog::{Head, Page, PageRef, SegmentEntry, Step};
use crate::ids::{Lsn, TimestampMs};
use std::sync::Arc;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// The segment that holds this record.
    Lsn(Lsn),
    /// The first segment whose last record is not older.
    Timestamp(TimestampMs),
}

impl Target {
    fn in_head(self, head: &Head) -> Step {
        match self {
            Self::Lsn(lsn) => head.locate(lsn),
            Self::Timestamp(timestamp) => head.locate_timestamp(timestamp),
        }
    }

    fn in_page(self, page: &Page) -> Step {
        match self {
            Self::Lsn(lsn) => page.locate(lsn),
            Self::Timestamp(timestamp) => page.locate_timestamp(timestamp),
        }
    }
}

/// Where the way ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Located {
    Segment(SegmentEntry),
    /// This page has to be loaded first.
    Page(PageRef),
    Nowhere,
}

/// A walker that remembers the pages of its last way, so that it holds what it needs even without a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Walk {
    path: Vec<Arc<Page>>,
    failure: Option<ReadError>,
}

impl Walk {
    /// Takes the page that the last [`Walk::locate`] asked for.
    pub(super) fn accept(&mut self, page: Result<Arc<Page>, ReadError>) {
        match page {
            Ok(page) => self.path.push(page),
            Err(error) => self.failure = Some(error),
        }
    }

    /// Goes down from the head as far as the pages at hand allow. Each page is held against the reference that led to
    /// it, so the level falls with every step and the way ends.
    pub(super) fn locate(&mut self, head: &Head, target: Target, stock: &mut Stock) -> Result<Located, ReadError> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let mut step = target.in_head(head);
        let mut parent_epoch = head.writer_epoch;
        for depth in 0.. {
            let reference = match step {
                Step::Segment(entry) => return Ok(Located::Segment(entry)),
                Step::Missing => break,
                Step::Page(reference) => reference,
            };
            let Some(page) = self.page(depth, &reference, stock) else { return Ok(Located::Page(reference)) };
            page.check(&reference, parent_epoch, &head.identity)
                .map_err(|error| stock.corrupt_page(&reference, error))?;
            step = target.in_page(page);
            parent_epoch = page.writer_epoch;
        }
        Ok(Located::Nowhere)
    }

    fn page(&mut self, depth: usize, reference: &PageRef, stock: &mut Stock) -> Option<&Page> {
        let known = self.path.get(depth).is_some_and(|page| page.reference.page_id == reference.page_id);
        if !known {
            self.path.truncate(depth);
            self.path.push(stock.page(&reference.page_id)?);
        }
        self.path.get(depth).map(|page| &**page)
    }
}
