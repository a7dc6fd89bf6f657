//! What writers left behind is found and deleted, and nothing else.
use crate::world::{PARTITION, log_on, options, record, writer};
use bucketlog_blocking::reader::ReaderOptions;
use bucketlog_blocking::scrub::{Kind, Orphan, ScrubError, ScrubOptions, ScrubReport, scrub};
use bucketlog_blocking::store::{LocalDir, Memory, Store};
use bucketlog_blocking::writer::WriterOptions;
use bucketlog_blocking::{Epoch, Log, Lsn};
use bucketlog_core::boundary::{Create, CreateUpload, Delete, Key, List, ListUploads};
use bucketlog_core::format::catalog::CatalogLayout;
use bucketlog_core::ids::SegmentId;
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};

const NOW: ScrubOptions = ScrubOptions { grace: Duration::ZERO, delete: false };
const DELETE: ScrubOptions = ScrubOptions { grace: Duration::ZERO, delete: true };

fn until() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

/// A log of eight segments under several pages, whose first owner left a segment when it was fenced.
fn world(store: &Arc<dyn Store>) -> Log {
    let log = log_on(Arc::clone(store));
    let layout = CatalogLayout { leaf_limit: 2, index_limit: 2, ..CatalogLayout::default() };
    let mut old = log.writer(PARTITION, WriterOptions { layout, ..options() }).unwrap();
    for n in 0..8 {
        old.append_durable(record(n)).unwrap();
    }
    let mut new = writer(&log);
    assert!(old.append_durable(record(99)).is_err(), "it was fenced");
    new.append_durable(record(8)).unwrap();
    new.close().unwrap();
    log
}

fn stores() -> (tempfile::TempDir, [Arc<dyn Store>; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let local = LocalDir::open(directory.path()).unwrap();
    (directory, [Arc::new(Memory::new()), Arc::new(local)])
}

fn run(store: &dyn Store, log: &Log, options: &ScrubOptions) -> (ScrubReport, Vec<Orphan>) {
    let mut orphans = Vec::new();
    let report = scrub(store, &log.keys(PARTITION), options, |orphan| orphans.push(orphan.clone())).unwrap();
    (report, orphans)
}

fn keys(store: &dyn Store) -> Vec<Key> {
    let list = List { prefix: Key::from(""), after: None, limit: 1_000 };
    store.list(&list, until()).unwrap().objects.into_iter().map(|row| row.key).collect()
}

fn plant(store: &dyn Store, key: &str) {
    store.create(&Create { key: Key::from(key), body: vec![Bytes::from_static(b"left")] }, until()).unwrap();
}

/// A key as a writer of `epoch` makes them.
fn key(log: &Log, base: u64, epoch: u64) -> String {
    log.keys(PARTITION).segment(Lsn(base), Epoch(epoch), &SegmentId([7; 16]))
}

#[test]
fn what_a_fenced_writer_left_is_told_and_only_if_asked_for_deleted() {
    let (_directory, stores) = stores();
    for store in stores {
        let log = world(&store);
        let before = keys(&*store);
        let (report, orphans) = run(&*store, &log, &NOW);
        assert_eq!((report.examined, report.orphans, report.deleted), (10, 1, 0), "{report:?}");
        assert_eq!((orphans[0].kind, orphans[0].epoch), (Kind::Segment, Epoch(1)));
        assert_eq!(orphans[0].size, Some(report.orphan_bytes));
        assert_eq!(keys(&*store), before, "nothing changed");
        let (report, again) = run(&*store, &log, &DELETE);
        assert_eq!((report.deleted, &again), (1, &orphans));
        let left: Vec<_> = before.into_iter().filter(|key| *key != orphans[0].key).collect();
        assert_eq!(keys(&*store), left);
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        let read: Vec<_> = reader.iter(Lsn(0)).map(|item| item.unwrap().1).collect();
        assert_eq!(read, (0..9).map(record).collect::<Vec<_>>());
        assert_eq!(run(&*store, &log, &DELETE).0.orphans, 0);
    }
}

#[test]
fn what_may_be_committed_yet_is_young_or_unknown_stays() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let log = world(&store);
    // The owner of epoch 2 has stored a segment and not committed it; a claim of epoch 3 may be on its way.
    plant(&*store, &key(&log, 9, 2));
    plant(&*store, &key(&log, 9, 3));
    plant(&*store, &format!("{}notes.txt", log.keys(PARTITION).segments_prefix()));
    let (report, _) = run(&*store, &log, &DELETE);
    assert_eq!((report.orphans, report.pending, report.unknown), (1, 2, 1), "{report:?}");
    plant(&*store, &key(&log, 9, 1));
    let (report, orphans) = run(&*store, &log, &ScrubOptions { delete: true, ..ScrubOptions::default() });
    assert_eq!((report.young, report.deleted, orphans.len()), (1, 0, 0), "{report:?}");
}

#[test]
fn d04_uploads_of_dead_writers_are_ended_and_those_of_the_owner_are_not() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let log = world(&store);
    for epoch in [1, 2] {
        store.create_upload(&CreateUpload { key: Key::from(key(&log, 9, epoch)) }, until()).unwrap();
    }
    let (report, orphans) = run(&*store, &log, &DELETE);
    assert_eq!((report.deleted, report.pending), (2, 1), "a segment and an upload: {report:?}");
    assert!(orphans.iter().any(|orphan| orphan.kind == Kind::Upload && orphan.epoch == Epoch(1)));
    let list = ListUploads { prefix: Key::from(""), after: None, limit: 10 };
    let left = store.list_uploads(&list, until()).unwrap().uploads;
    assert_eq!(left.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), [key(&log, 9, 2)]);
}

#[test]
fn where_a_page_is_missing_or_there_is_no_head_nothing_is_an_orphan() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let log = world(&store);
    let pages: Vec<_> = keys(&*store).into_iter().filter(|key| key.as_str().contains("/pages/")).collect();
    for key in pages {
        store.delete(&Delete { key }, until()).unwrap();
    }
    let before = keys(&*store);
    let error = scrub(&*store, &log.keys(PARTITION), &DELETE, |_| {}).unwrap_err();
    assert!(matches!(error, ScrubError::MissingPage { .. }), "{error}");
    store.delete(&Delete { key: Key::from(log.keys(PARTITION).head()) }, until()).unwrap();
    let error = scrub(&*store, &log.keys(PARTITION), &DELETE, |_| {}).unwrap_err();
    assert!(matches!(error, ScrubError::NoHead { .. }), "{error}");
    assert_eq!(keys(&*store).len() + 1, before.len(), "but for the head nothing was deleted");
}
