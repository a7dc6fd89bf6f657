//! The catalog tree against a plain list of segments, and its parsers against any bytes.
use crate::catalog_support::{Store, claimed, golden, next_segment, read, rehash};
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::catalog::{Head, Page, Presence, SegmentEntry, Step, Trim, TrimError};
use bucketlog_core::ids::{Lsn, TimestampMs, WriterId};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Change {
    Append {
        records: u32,
        pause: u32,
        length: u32,
    },
    Takeover(u8),
    /// Retention before the LSN that lies this many 100ths into the log; above 100, past its end.
    Trim(u64),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let append =
        (1..5_u32, 0..3_u32, 0..3_u32).prop_map(|(records, pause, length)| Change::Append { records, pause, length });
    let change = prop_oneof![
        12 => append,
        1 => (1..=u8::MAX).prop_map(Change::Takeover),
        1 => (0..=105_u64).prop_map(Change::Trim),
    ];
    prop::collection::vec(change, 1..90)
}

fn head() -> impl Strategy<Value = Head> {
    (any::<bool>(), 1..5_u32, 2..5_u32).prop_map(|(crc, leaf_limit, index_limit)| {
        claimed(if crc { HashAlgo::Crc32c } else { HashAlgo::Xxh64 }, leaf_limit, index_limit)
    })
}

/// A catalog, and beside it what it should say.
#[derive(Debug)]
struct Model {
    head: Head,
    store: Store,
    committed: Vec<SegmentEntry>,
    readable_from: usize,
}

impl Model {
    fn new(head: Head) -> Self {
        Self { head, store: Store::default(), committed: Vec::new(), readable_from: 0 }
    }

    fn apply(&mut self, change: &Change) {
        let before = self.head.generation.0;
        match *change {
            Change::Append { records, pause, length } => {
                let segment = next_segment(&self.head, records, pause, length);
                let mut pages = Vec::new();
                self.head.append(segment, &mut pages).unwrap();
                self.store.put(&pages);
                self.committed.push(segment);
            }
            Change::Takeover(writer) => self.head = self.head.takeover(WriterId([writer; 16])).unwrap(),
            Change::Trim(percent) => {
                if !self.trim(Lsn(self.head.next_lsn.0 * percent / 100 + percent / 101)) {
                    return;
                }
            }
        }
        assert_eq!(self.head.generation.0, before + 1);
    }

    /// Whether the head changed.
    fn trim(&mut self, before: Lsn) -> bool {
        let version = self.head.applied_retention_version + 1;
        match self.store.trim(&self.head, version, before) {
            Ok(Trim::Done { head, pages }) => {
                self.store.put(&pages);
                self.head = head;
                self.readable_from += self.readable().iter().take_while(|segment| segment.last_lsn < before).count();
                let repeat = self.store.trim(&self.head, version, before);
                assert!(matches!(repeat, Ok(Trim::Unchanged)), "{repeat:?}");
                true
            }
            Err(TrimError::Regression { applied_lsn, .. }) => {
                assert!(before < applied_lsn);
                false
            }
            other => panic!("{other:?}"),
        }
    }

    fn readable(&self) -> &[SegmentEntry] {
        &self.committed[self.readable_from..]
    }

    fn check_head(&self) {
        let head = &self.head;
        let bytes = head.encode();
        assert_eq!(bytes.len(), head.encoded_len());
        assert_eq!(Head::decode(&bytes).as_ref(), Ok(head));
        assert_eq!(head.segment_count, self.committed.len() as u64);
        assert_eq!(head.reachable_segment_count, self.readable().len() as u64);
        assert_eq!(head.last_segment.as_ref(), self.committed.last());
        assert_eq!(head.oldest_lsn, self.readable().first().map_or(head.next_lsn, |segment| segment.base_lsn));
    }

    fn check_tree(&self) {
        assert_eq!(self.store.segments(&self.head), self.readable());
        for lsn in (0..=self.head.next_lsn.0 + 1).chain([u64::MAX]).map(Lsn) {
            let expected = self.readable().iter().find(|segment| (segment.base_lsn..=segment.last_lsn).contains(&lsn));
            assert_eq!(self.store.locate(&self.head, lsn).0.as_ref(), expected, "{lsn}");
        }
        let last = self.committed.last().map_or(0, |last| last.max_timestamp.0);
        for timestamp in (-1..=last + 1).chain([i64::MIN, i64::MAX]).map(TimestampMs) {
            let expected = self.readable().iter().find(|segment| segment.max_timestamp >= timestamp);
            assert_eq!(self.store.locate_timestamp(&self.head, timestamp).0.as_ref(), expected, "{timestamp}");
        }
        for (i, segment) in self.committed.iter().enumerate() {
            let expected = i >= self.readable_from || i + 1 == self.committed.len();
            assert_eq!(self.is_present(segment), expected, "segment {i}");
            let other = SegmentEntry { size_bytes: 1, ..*segment };
            assert!(!self.is_present(&other), "segment {i}");
        }
    }

    fn is_present(&self, segment: &SegmentEntry) -> bool {
        let (mut presence, mut epoch) = (self.head.presence(segment), self.head.writer_epoch);
        while let Presence::Ask(reference) = presence {
            let page = self.store.fetch(&reference, epoch, &self.head.identity);
            epoch = page.writer_epoch;
            presence = page.presence(segment);
        }
        presence == Presence::Present
    }
}

/// Bytes put over a valid object, and whether its hashes are made right again.
#[derive(Clone, Debug)]
struct Damage {
    writes: Vec<(prop::sample::Index, u8)>,
    rehash: bool,
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = prop_oneof![Just(0), Just(1), Just(0xff), any::<u8>()];
    (prop::collection::vec((any::<prop::sample::Index>(), byte), 1..4), any::<bool>())
        .prop_map(|(writes, rehash)| Damage { writes, rehash })
}

impl Damage {
    fn apply(&self, object: &[u8]) -> Vec<u8> {
        let mut object = object.to_vec();
        for (index, byte) in &self.writes {
            let at = index.index(object.len());
            object[at] = *byte;
        }
        if self.rehash {
            rehash(&mut object);
        }
        object
    }
}

/// Whatever is accepted is canonical, and can be used without a panic.
fn use_head(bytes: &[u8]) {
    let Ok(mut head) = Head::decode(bytes) else { return };
    assert_eq!(head.encode(), bytes, "only canonical bytes are accepted");
    for lsn in [0, 1, head.oldest_lsn.0, head.next_lsn.0, u64::MAX].map(Lsn) {
        let inside = (head.oldest_lsn..head.next_lsn).contains(&lsn);
        assert_eq!(head.locate(lsn) != Step::Missing, inside, "{lsn}");
        let _ = head.locate_timestamp(TimestampMs(lsn.0.cast_signed()));
    }
    let _ = bucketlog_core::format::catalog::trim(&head, u64::MAX, head.next_lsn, &|_| None);
    let _ = bucketlog_core::format::catalog::trim(&head, 1, Lsn(3), &|_| None);
    let _ = head.takeover(WriterId([1; 16]));
    let before = head.clone();
    let mut pages = Vec::new();
    match head.append(next_segment(&head, 1, 0, 0), &mut pages) {
        Ok(()) => assert_eq!(Head::decode(&head.encode()), Ok(head)),
        Err(_) => assert_eq!((head, pages), (before, Vec::new())),
    }
}

fn use_page(bytes: &[u8]) {
    let Ok(page) = Page::decode(bytes) else { return };
    assert_ne!(page.locate(page.reference.seq_hi), Step::Missing);
    assert_eq!(page.locate(Lsn::EXHAUSTED), Step::Missing);
    assert_ne!(page.locate_timestamp(page.reference.max_timestamp), Step::Missing);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_says_what_a_list_would(head in head(), changes in changes()) {
        let mut model = Model::new(head);
        for change in &changes {
            model.apply(change);
            model.check_head();
        }
        model.check_tree();
    }

    #[test]
    fn a_failed_or_folded_append_changes_nothing_else(head in head(), changes in changes()) {
        let mut model = Model::new(head);
        changes.iter().for_each(|change| model.apply(change));
        let (mut head, mut pages) = (model.head.clone(), Vec::new());
        let good = next_segment(&head, 2, 0, 0);
        let bad = SegmentEntry { base_lsn: Lsn(good.base_lsn.0 + 1), last_lsn: Lsn(good.last_lsn.0 + 1), ..good };
        prop_assert!(head.append(bad, &mut pages).is_err());
        prop_assert_eq!((&head, pages.len()), (&model.head, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_parsers_panic(bytes in prop::collection::vec(any::<u8>(), 0..900)) {
        for magic in [b"PLCH", b"PLCL", b"PLCX"] {
            let mut bytes = bytes.clone();
            bytes.splice(..bytes.len().min(4), *magic);
            prop_assert!(Head::decode(&bytes).is_err());
            prop_assert!(Page::decode(&bytes).is_err());
        }
    }

    #[test]
    fn damaged_objects_never_panic(damage in damage(), appends in 0..40_u32, crc in any::<bool>()) {
        let mut head = claimed(if crc { HashAlgo::Crc32c } else { HashAlgo::Xxh64 }, 2, 3);
        let mut pages = Vec::new();
        for i in 0..appends {
            head.append(next_segment(&head, 1 + i % 3, i % 2, i % 4), &mut pages).unwrap();
        }
        use_head(&damage.apply(&head.encode()));
        for page in &pages {
            use_page(&damage.apply(&page.bytes));
        }
    }
}

#[test]
fn every_golden_object_cut_short_is_refused() {
    let Some(folder) = golden() else { return };
    let folder = folder.join("corpus-catformat-v1");
    for name in ["populated-head-xxh64.plc", "leaf-page-xxh64.plc", "index-page-crc32c.plc"] {
        let object = read(&folder.join(name));
        for len in 0..object.len() {
            assert!(Head::decode(&object[..len]).is_err(), "{name} of {len} bytes");
            assert!(Page::decode(&object[..len]).is_err(), "{name} of {len} bytes");
        }
    }
}
