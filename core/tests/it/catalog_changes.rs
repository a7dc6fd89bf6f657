//! What a head does with appends, claims and retention at the edges.
use crate::catalog_support::{IDENTITY, Store, WRITER, claimed, next_segment, sample};
use bucketlog_core::format::catalog::{CatalogLayout, Head, Page, PageRef, SegmentEntry, TreeError, Trim, TrimError};
use bucketlog_core::format::{FormatErrorKind as Kind, HashAlgo};
use bucketlog_core::ids::{Epoch, Generation, Lsn, PageId, TimestampMs, WriterId};
use bucketlog_core::limits;

/// The append fails in this way and leaves head and pages as they were.
#[track_caller]
fn check_refused(head: &Head, entry: SegmentEntry, expected: impl Fn(&TreeError) -> bool) {
    let (mut after, mut pages) = (head.clone(), Vec::new());
    let error = after.append(entry, &mut pages).expect_err("the append is refused");
    assert!(expected(&error), "{error:?}");
    assert_eq!((&after, pages.len()), (head, 0));
}

#[test]
fn appends_that_a_head_refuses() {
    let (head, _) = sample();
    let good = next_segment(&head, 1, 0, 0);
    check_refused(&head, SegmentEntry { writer_epoch: Epoch(2), ..good }, |error| {
        *error == TreeError::WrongEpoch { head: Epoch(1), found: Epoch(2) }
    });
    let other = WriterId([9; 16]);
    check_refused(&head, SegmentEntry { writer_tag: other, ..good }, |error| {
        *error == TreeError::WrongWriter { head: WRITER, found: other }
    });
    let early = SegmentEntry { base_lsn: Lsn(17), record_count: 2, ..good };
    check_refused(&head, early, |error| *error == TreeError::NotContiguous { expected: Lsn(18), found: Lsn(17) });
    let last = head.last_segment.unwrap().max_timestamp;
    let back = TimestampMs(last.0 - 1);
    check_refused(&head, SegmentEntry { min_timestamp: back, ..good }, |error| {
        *error == TreeError::TimestampOrder { last, found: back }
    });
    check_refused(
        &head,
        SegmentEntry { record_count: 2, ..good },
        |error| matches!(error, TreeError::InvalidEntry(error) if error.offset == 32),
    );
    let Ok(Trim::Done { head: retained, .. }) = Store::default().trim(&head, 1, Lsn(18)) else { panic!("trimmed") };
    check_refused(&retained, SegmentEntry { min_timestamp: back, ..good }, |error| {
        *error == TreeError::TimestampOrder { last, found: back }
    });
    let unclaimed = Head::initial(IDENTITY, CatalogLayout::default(), Lsn(18));
    check_refused(&unclaimed, good, |error| matches!(error, TreeError::WrongEpoch { .. }));
}

#[test]
fn exhausted_counters() {
    let (head, _) = sample();
    let good = next_segment(&head, 1, 0, 0);
    let tired = Head { generation: Generation(u64::MAX), ..head.clone() };
    check_refused(&tired, good, |error| *error == TreeError::GenerationExhausted);
    assert_eq!(tired.takeover(WRITER), Err(TreeError::GenerationExhausted));
    let trimmed = Store::default().trim(&tired, 1, Lsn(18));
    assert_eq!(trimmed, Err(TrimError::Tree(TreeError::GenerationExhausted)));
    let claimed_often = Head { writer_epoch: Epoch(u64::MAX), ..head.clone() };
    assert_eq!(claimed_often.takeover(WRITER), Err(TreeError::EpochExhausted));
    let counted = Head { segment_count: u64::MAX, ..head.clone() };
    check_refused(&counted, good, |error| *error == TreeError::SegmentCountExhausted);
    let last_one = Head { generation: Generation(u64::MAX - 1), writer_epoch: Epoch(u64::MAX - 1), ..head.clone() };
    let last_one = last_one.takeover(WRITER).unwrap();
    assert_eq!(Head::decode(&last_one.encode()), Ok(last_one));
    assert_eq!(head.takeover(WriterId([0; 16])), Err(TreeError::ZeroWriter));
}

#[test]
fn a_partition_may_be_filled_to_its_last_lsn() {
    let start = Lsn(u64::MAX - 2);
    let mut head = Head::initial(IDENTITY, CatalogLayout::default(), start).takeover(WRITER).unwrap();
    let mut pages = Vec::new();
    head.append(next_segment(&head, 2, 0, 0), &mut pages).unwrap();
    assert_eq!(head.next_lsn, Lsn::EXHAUSTED);
    assert_eq!(Head::decode(&head.encode()).as_ref(), Ok(&head));
    check_refused(&head, next_segment(&head, 1, 0, 0), |error| *error == TreeError::LsnExhausted);
    let Ok(Trim::Done { head, .. }) = Store::default().trim(&head, 1, Lsn::EXHAUSTED) else { panic!("trimmed") };
    assert_eq!((head.oldest_lsn, head.applied_retention_lsn), (Lsn::EXHAUSTED, Lsn::EXHAUSTED));
    assert_eq!(Head::decode(&head.encode()), Ok(head));
}

/// A head with this many sections of one reference each, so that the next segment fills every node.
fn brimming(sections: u8) -> Head {
    let mut head = claimed(HashAlgo::Xxh64, 1, 2);
    for level in (0..sections).rev() {
        let segment = next_segment(&head, 1, 0, 0);
        head.sections.insert(
            0,
            vec![PageRef {
                level,
                entry_count: 1,
                seq_lo: segment.base_lsn,
                seq_hi: segment.last_lsn,
                min_timestamp: segment.min_timestamp,
                max_timestamp: segment.max_timestamp,
                generation: Generation(1),
                page_id: PageId([level + 1; 16]),
                segment_count: 1,
            }],
        );
        head.next_lsn = Lsn(segment.last_lsn.0 + 1);
        head.segment_count += 1;
        head.reachable_segment_count += 1;
        head.last_segment = Some(segment);
    }
    assert_eq!(Head::decode(&head.encode()).as_ref(), Ok(&head));
    head
}

#[test]
fn the_tree_ends_at_section_64() {
    let mut head = brimming(63);
    let mut pages = Vec::new();
    head.append(next_segment(&head, 1, 0, 0), &mut pages).unwrap();
    assert_eq!(pages.iter().map(|page| page.reference.level).collect::<Vec<_>>(), (0..=63).collect::<Vec<_>>());
    assert_eq!((head.sections.len(), head.sections[63].len()), (64, 1));
    assert!(pages.iter().all(|page| Page::decode(&page.bytes).is_ok_and(|found| found.reference == page.reference)));
    assert_eq!(Head::decode(&head.encode()), Ok(head));
    let full = brimming(64);
    check_refused(&full, next_segment(&full, 1, 0, 0), |error| *error == TreeError::IndexFull);
    let mut roomy = full;
    roomy.layout.leaf_limit = 2;
    roomy.append(next_segment(&roomy, 1, 0, 0), &mut pages).expect("the active list has room");
}

#[test]
fn retention_versions_and_boundaries_only_grow() {
    let (head, pages) = sample();
    let mut store = Store::default();
    store.put(&pages);
    let apply = |head: &Head, version, before| match store.trim(head, version, Lsn(before)) {
        Ok(Trim::Done { head, pages }) => (head, pages),
        other => panic!("{other:?}"),
    };
    let (head, pages) = apply(&head, 4, 6);
    assert_eq!((head.oldest_lsn, head.generation, pages.len()), (Lsn(6), Generation(11), 2));
    assert_eq!(store.trim(&head, 4, Lsn(6)), Ok(Trim::Unchanged));
    assert_eq!(store.trim(&head, 0, Lsn(6)), Err(TrimError::ZeroVersion));
    for (version, before_lsn) in [(3, 6), (3, 9), (4, 5), (4, 7), (5, 5)] {
        let (applied_version, applied_lsn, before_lsn) = (4, Lsn(6), Lsn(before_lsn));
        let expected = TrimError::Regression { applied_version, applied_lsn, version, before_lsn };
        assert_eq!(store.trim(&head, version, before_lsn), Err(expected));
    }
    store.put(&pages);
    let (same_floor, pages) = match store.trim(&head, 5, Lsn(7)) {
        Ok(Trim::Done { head, pages }) => (head, pages),
        other => panic!("{other:?}"),
    };
    assert_eq!((same_floor.oldest_lsn, same_floor.generation, pages.len()), (Lsn(6), Generation(12), 0));
    assert_eq!((same_floor.applied_retention_lsn, same_floor.applied_retention_version), (Lsn(7), 5));
    assert_eq!(same_floor.sections, head.sections);
}

#[test]
fn retention_of_everything_keeps_the_last_segment_on_record() {
    let (head, pages) = sample();
    let mut store = Store::default();
    store.put(&pages);
    let Ok(Trim::Done { head: retained, pages }) = store.trim(&head, 1, Lsn(1000)) else { panic!("trimmed") };
    assert!(pages.is_empty() && retained.sections.is_empty() && retained.active.is_empty());
    assert_eq!((retained.oldest_lsn, retained.applied_retention_lsn), (Lsn(18), Lsn(18)));
    assert_eq!((retained.last_segment, retained.segment_count), (head.last_segment, 9));
    let empty = Head::initial(IDENTITY, CatalogLayout::default(), Lsn(3));
    let Ok(Trim::Done { head: empty, .. }) = store.trim(&empty, 1, Lsn(1)) else { panic!("trimmed") };
    assert_eq!((empty.oldest_lsn, empty.applied_retention_lsn, empty.generation), (Lsn(3), Lsn(1), Generation(1)));
    assert_eq!(Head::decode(&empty.encode()), Ok(empty));
}

#[test]
fn retention_refuses_a_page_that_is_not_the_one_asked_for() {
    let (head, pages) = sample();
    let wrong = std::sync::Arc::new(Page::decode(&pages[0].bytes).unwrap());
    let result = bucketlog_core::format::catalog::trim(&head, 1, Lsn(5), &|_| Some(wrong.clone()));
    assert!(matches!(result, Err(TrimError::Corrupt(error)) if error.kind == Kind::Mismatch));
}

/// Empty sections come from objlog's retention: the lower ones stay, trailing ones are tolerated.
#[test]
fn empty_sections_are_read_and_filled_again() {
    let mut head = claimed(HashAlgo::Crc32c, 2, 2);
    head.sections = vec![Vec::new(), Vec::new(), Vec::new()];
    assert_eq!(Head::decode(&head.encode()).as_ref(), Ok(&head));
    let mut pages = Vec::new();
    for _ in 0..2 {
        head.append(next_segment(&head, 1, 0, 0), &mut pages).unwrap();
    }
    assert_eq!(head.sections.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!(Head::decode(&head.encode()).as_ref(), Ok(&head));
    let Ok(Trim::Done { head, .. }) = Store::default().trim(&head, 1, Lsn(0)) else { panic!("trimmed") };
    assert_eq!(head.sections.len(), 1);
}

#[test]
fn layouts_are_moved_into_their_range() {
    let layout = |leaf_limit, index_limit| CatalogLayout { hash: HashAlgo::Crc32c, leaf_limit, index_limit };
    assert_eq!(layout(0, 0).clamped(), layout(1, 2));
    assert_eq!(layout(1025, u32::MAX).clamped(), layout(1024, 1024));
    assert_eq!(layout(1, 1024).clamped(), layout(1, 1024));
    let head = Head::initial(IDENTITY, layout(0, 0), Lsn(0));
    assert_eq!(Head::decode(&head.encode()), Ok(head));
}

#[test]
fn sizes_are_those_of_the_format() {
    let layout = CatalogLayout::default();
    let mut head = Head::initial(IDENTITY, layout, Lsn(0)).takeover(WRITER).unwrap();
    let mut pages = Vec::new();
    for _ in 0..128 * 128 {
        head.append(next_segment(&head, 1, 0, 0), &mut pages).unwrap();
    }
    let sizes = |level| pages.iter().filter(move |page| page.reference.level == level).map(|page| page.bytes.len());
    assert!(sizes(0).eq([16_544; 128]));
    assert!(sizes(1).eq([10_400; 1]));
    assert_eq!(head.encoded_len(), limits::MIN_HEAD_LEN + 16 + 16 + 80);
    let page = Page::decode(&pages[0].bytes).unwrap();
    assert!(page.size() >= 128 * size_of::<SegmentEntry>());
}
