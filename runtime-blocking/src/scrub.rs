//! Finds what no head will ever lead to: segments and unfinished uploads of writers that were fenced or killed.
//!
//! A segment is an orphan if its key names an epoch **below the head's** and the head does not lead to it. Only its own
//! writer could still commit it, by a swap on a version that the head had under that epoch. The head has moved on, so no
//! such swap can succeed, however late it arrives; what is committed already is reachable, and stays so until retention
//! passes it. Before anything is deleted the head is read again and every candidate is looked for anew. Segments of the
//! present epoch are left alone, however old: their writer may commit them at any time. The same holds of uploads, which
//! nothing can lead to before they are completed. Left alone as well are pages, whose keys name no epoch, and segments
//! below the oldest record: those were committed once, and are for a reclaim that keeps retention's own grace.
//!
//! An older head that an operator puts back may lead to what was deleted; so may a head that is deleted and begun anew.
//!
//! ```
//! use bucketlog_blocking::scrub::{ScrubOptions, scrub};
//! use bucketlog_blocking::store::Memory;
//! use bucketlog_blocking::{Log, LogOptions, Partition, StreamId, WriterOptions};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Arc::new(Memory::new());
//! let log = Log::open(store.clone(), StreamId::new("orders")?, LogOptions::default());
//! log.writer(Partition(0), WriterOptions::default())?.close()?;
//! let report = scrub(&*store, &log.keys(Partition(0)), &ScrubOptions::default(), |found| println!("{}", found.key))?;
//! assert_eq!(report.orphans, 0);
//! # Ok(())
//! # }
//! ```
use crate::clock::now;
use crate::store::Store;
use bucketlog_core::boundary::{
    AbortUpload, ByteRange, DeleteMany, Fault, Get, GetReply, Key, List, ListUploads, RefusalKind, UploadId,
};
use bucketlog_core::format::FormatError;
use bucketlog_core::format::catalog::{Head, Page, PageRef, SegmentEntry, Step};
use bucketlog_core::format::keys::{LogKeys, ObjectName};
use bucketlog_core::ids::{Epoch, Lsn, SegmentId, TimestampMs};
use bucketlog_core::limits::{MAX_HEAD_LEN, MAX_PAGE_LEN};
use bytes::Bytes;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Attempts of each request before the scrub gives up.
const ATTEMPTS: u32 = 6;
/// Time for one attempt.
const PATIENCE: Duration = Duration::from_secs(30);
/// Rows of a listing, and keys of one deletion (S3's limit).
const ROWS: u16 = 1_000;

/// What a scrub may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrubOptions {
    /// Nothing that was stored later than so long ago, by the store's clock, is an orphan. Default 24 h.
    pub grace: Duration,
    /// Whether orphans are deleted; default no, they are only told.
    pub delete: bool,
}

impl Default for ScrubOptions {
    fn default() -> Self {
        Self { grace: Duration::from_secs(24 * 3600), delete: false }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A segment that no head leads to.
    Segment,
    /// An upload that was not completed.
    Upload,
}

/// An orphan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// What it is.
    pub kind: Kind,
    /// Its key, or the key that it was to have.
    pub key: Key,
    /// Bytes; a store does not tell those of an upload.
    pub size: Option<u64>,
    /// When it was stored or begun, by the store's clock.
    pub since: TimestampMs,
    /// Epoch of its writer.
    pub epoch: Epoch,
}

/// What a scrub came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Segments and uploads looked at.
    pub examined: u64,
    /// Orphans found.
    pub orphans: u64,
    /// Bytes of the segments among them.
    pub orphan_bytes: u64,
    /// Orphans deleted.
    pub deleted: u64,
    /// Not reachable, but younger than the grace, or of an age that the store does not tell.
    pub young: u64,
    /// Below the oldest record: retention has passed them.
    pub expired: u64,
    /// Not reachable, but of the present epoch or a later one: their writer may commit them yet.
    pub pending: u64,
    /// Objects below the segments' prefix whose keys name no segment; they are left alone.
    pub unknown: u64,
}

/// Why a scrub ended early. What it had deleted by then were orphans.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScrubError {
    /// There is no head, so nothing can be said of any object.
    #[error("there is no head at {key}: nothing can be called an orphan")]
    NoHead {
        /// Key of the head.
        key: Key,
    },
    /// The head or a page is damaged, or a page is missing: nothing can be said of what it may lead to.
    #[error("{key} is damaged, so nothing can be called an orphan: {error}")]
    Corrupt {
        /// Key of the object.
        key: Key,
        /// What is wrong with it.
        error: FormatError,
    },
    /// A page that the head leads to is not there.
    #[error("the page {key} is missing, so nothing can be called an orphan")]
    MissingPage {
        /// Its key.
        key: Key,
    },
    /// The store did not do what it was asked, several times.
    #[error("{operation} of {key} failed: {fault}")]
    Store {
        /// What was asked for.
        operation: &'static str,
        /// Of which object or prefix.
        key: Key,
        /// The last answer.
        fault: Fault,
    },
}

/// Finds the orphans of one partition, tells each to `on_orphan`, and deletes them if it may. Blocks; memory holds one
/// page of a listing and the pages on the way to one segment.
///
/// # Errors
/// As said at [`ScrubError`].
pub fn scrub(
    store: &dyn Store,
    keys: &LogKeys,
    options: &ScrubOptions,
    on_orphan: impl FnMut(&Orphan),
) -> Result<ScrubReport, ScrubError> {
    let tree = Tree::read(store, keys)?;
    let mut scrub = Scrub { store, keys, options, tree, report: ScrubReport::default(), on_orphan };
    scrub.segments()?;
    scrub.uploads()?;
    Ok(scrub.report)
}

struct Scrub<'a, F> {
    store: &'a dyn Store,
    keys: &'a LogKeys,
    options: &'a ScrubOptions,
    tree: Tree<'a>,
    report: ScrubReport,
    on_orphan: F,
}

impl<F: FnMut(&Orphan)> Scrub<'_, F> {
    fn segments(&mut self) -> Result<(), ScrubError> {
        let prefix = Key::from(self.keys.segments_prefix());
        let mut after = None;
        loop {
            let list = List { prefix: prefix.clone(), after, limit: ROWS };
            let page = again("listing", &prefix, || self.store.list(&list, until()))?;
            let mut orphans = Vec::new();
            for row in &page.objects {
                if let Some(orphan) = self.examine(Kind::Segment, &row.key, Some(row.size), row.modified)? {
                    orphans.push(orphan);
                }
            }
            self.delete_segments(&orphans)?;
            after = page.objects.last().map(|row| row.key.clone());
            if !page.more || after.is_none() {
                return Ok(());
            }
        }
    }

    fn uploads(&mut self) -> Result<(), ScrubError> {
        let prefix = Key::from(self.keys.segments_prefix());
        let mut after: Option<(Key, UploadId)> = None;
        loop {
            let list = ListUploads { prefix: prefix.clone(), after, limit: ROWS };
            let page = match again("listing the uploads", &prefix, || self.store.list_uploads(&list, until())) {
                Err(ScrubError::Store { fault, .. }) if fault.refusal() == Some(&RefusalKind::Unsupported) => {
                    return Ok(());
                }
                page => page?,
            };
            for row in &page.uploads {
                if self.examine(Kind::Upload, &row.key, None, row.begun)?.is_some() && self.options.delete {
                    let abort = AbortUpload { key: row.key.clone(), upload: row.upload.clone() };
                    again("ending an upload", &row.key, || self.store.abort_upload(&abort, until()))?;
                    self.report.deleted += 1;
                }
            }
            after = page.uploads.last().map(|row| (row.key.clone(), row.upload.clone()));
            if !page.more || after.is_none() {
                return Ok(());
            }
        }
    }

    /// Counts one object, and tells it if it is an orphan.
    fn examine(
        &mut self,
        kind: Kind,
        key: &Key,
        size: Option<u64>,
        since: Option<TimestampMs>,
    ) -> Result<Option<Orphan>, ScrubError> {
        self.report.examined += 1;
        let Some(ObjectName::Segment { base_lsn, epoch, segment_id }) = self.keys.parse(key.as_str()) else {
            self.report.unknown += 1;
            return Ok(None);
        };
        if kind == Kind::Segment && self.tree.leads_to(base_lsn, epoch, segment_id)? {
            return Ok(None);
        }
        if epoch >= self.tree.head.writer_epoch {
            self.report.pending += 1;
            return Ok(None);
        }
        if kind == Kind::Segment && base_lsn < self.tree.head.oldest_lsn {
            self.report.expired += 1;
            return Ok(None);
        }
        let Some(since) = since.filter(|since| is_older(*since, self.options.grace)) else {
            self.report.young += 1;
            return Ok(None);
        };
        let orphan = Orphan { kind, key: key.clone(), size, since, epoch };
        (self.on_orphan)(&orphan);
        self.report.orphans += 1;
        self.report.orphan_bytes += size.unwrap_or(0);
        Ok(Some(orphan))
    }

    /// Looks at the newest head once more, and deletes what is an orphan under that, too.
    fn delete_segments(&mut self, orphans: &[Orphan]) -> Result<(), ScrubError> {
        if orphans.is_empty() || !self.options.delete {
            return Ok(());
        }
        self.tree = Tree::read(self.store, self.keys)?;
        let mut keys = Vec::new();
        for orphan in orphans {
            let Some(ObjectName::Segment { base_lsn, epoch, segment_id }) = self.keys.parse(orphan.key.as_str()) else {
                continue;
            };
            let is_below = base_lsn < self.tree.head.oldest_lsn;
            let is_dead = epoch < self.tree.head.writer_epoch && !is_below;
            let is_dead = is_dead && !self.tree.leads_to(base_lsn, epoch, segment_id)?;
            keys.extend(is_dead.then(|| orphan.key.clone()));
        }
        let Some(first) = keys.first().cloned() else { return Ok(()) };
        let delete = DeleteMany { keys };
        let reply = again("deleting", &first, || self.store.delete_many(&delete, until()))?;
        for (key, outcome) in delete.keys.iter().zip(reply.outcomes) {
            outcome.map_err(|fault| ScrubError::Store { operation: "deleting", key: key.clone(), fault })?;
            self.report.deleted += 1;
        }
        Ok(())
    }
}

/// A head and the pages on the way to the segment that was looked for last: segments are listed in their order.
struct Tree<'a> {
    store: &'a dyn Store,
    keys: &'a LogKeys,
    head: Head,
    way: Vec<Page>,
}

impl<'a> Tree<'a> {
    fn read(store: &'a dyn Store, keys: &'a LogKeys) -> Result<Self, ScrubError> {
        let key = Key::from(keys.head());
        let body = read(store, &key, MAX_HEAD_LEN as u64)?.ok_or_else(|| ScrubError::NoHead { key: key.clone() })?;
        let head = Head::decode(&body).and_then(|head| head.check_identity(keys.identity()).map(|()| head));
        let head = head.map_err(|error| ScrubError::Corrupt { key, error })?;
        Ok(Self { store, keys, head, way: Vec::new() })
    }

    fn leads_to(&mut self, base: Lsn, epoch: Epoch, id: SegmentId) -> Result<bool, ScrubError> {
        let is_it = |entry: &SegmentEntry| (entry.base_lsn, entry.writer_epoch, entry.segment_id) == (base, epoch, id);
        if self.head.last_segment.as_ref().is_some_and(is_it) {
            return Ok(true);
        }
        let (mut step, mut parent_epoch) = (self.head.locate(base), self.head.writer_epoch);
        for depth in 0.. {
            let reference = match step {
                Step::Segment(entry) => return Ok(is_it(&entry)),
                Step::Missing => break,
                Step::Page(reference) => reference,
            };
            let page = self.page(depth, &reference, parent_epoch)?;
            (step, parent_epoch) = (page.locate(base), page.writer_epoch);
        }
        Ok(false)
    }

    fn page(&mut self, depth: usize, reference: &PageRef, parent_epoch: Epoch) -> Result<&Page, ScrubError> {
        if self.way.get(depth).is_none_or(|page| page.reference != *reference) {
            let key = Key::from(self.keys.page(reference));
            let body = read(self.store, &key, MAX_PAGE_LEN as u64)?;
            let body = body.ok_or_else(|| ScrubError::MissingPage { key: key.clone() })?;
            let page = Page::decode(&body)
                .and_then(|page| page.check(reference, parent_epoch, self.keys.identity()).map(|()| page));
            self.way.truncate(depth);
            self.way.push(page.map_err(|error| ScrubError::Corrupt { key, error })?);
        }
        Ok(&self.way[depth])
    }
}

/// An object; `None` if it is not there.
fn read(store: &dyn Store, key: &Key, max_len: u64) -> Result<Option<Bytes>, ScrubError> {
    let get = Get::new(key.clone(), ByteRange::All, max_len);
    match again("reading", key, || store.get(&get, until())) {
        Ok(GetReply::Found { body, .. }) => Ok(Some(body)),
        Ok(GetReply::NotModified) => Ok(None),
        Err(ScrubError::Store { fault, .. }) if fault.refusal() == Some(&RefusalKind::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Repeats what may be overcome by it. All requests of a scrub may be repeated.
#[expect(clippy::disallowed_methods, reason = "there is nothing but time to wait for")]
fn again<T>(
    operation: &'static str,
    key: &Key,
    mut attempt: impl FnMut() -> Result<T, Fault>,
) -> Result<T, ScrubError> {
    let (mut pause, mut tries) = (Duration::from_millis(100), 0);
    loop {
        let fault = match attempt() {
            Ok(reply) => return Ok(reply),
            Err(fault) => fault,
        };
        tries += 1;
        let asked = match fault.refusal() {
            None | Some(RefusalKind::Conflict | RefusalKind::Throttled(None)) => Duration::ZERO,
            Some(RefusalKind::Throttled(Some(asked))) => *asked,
            Some(_) => return Err(ScrubError::Store { operation, key: key.clone(), fault }),
        };
        if tries >= ATTEMPTS {
            return Err(ScrubError::Store { operation, key: key.clone(), fault });
        }
        sleep(pause.max(asked));
        pause *= 2;
    }
}

fn until() -> Instant {
    Instant::now() + PATIENCE
}

fn is_older(since: TimestampMs, grace: Duration) -> bool {
    let age = u64::try_from(now().0.saturating_sub(since.0)).unwrap_or(0);
    Duration::from_millis(age) >= grace
}
