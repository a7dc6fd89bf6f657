//! Every rule of the catalog's objects, broken one at a time.
use crate::catalog_support::{IDENTITY, golden, items, read, read_json, rehash, sample, text};
use bucketlog_core::format::catalog::{CatalogLayout, Head, LogIdentity, Page, PageRef, SegmentEntry};
use bucketlog_core::format::segment::{Codec, Trailer};
use bucketlog_core::format::{FormatError, FormatErrorKind as Kind, HashAlgo, Section};
use bucketlog_core::ids::{
    DataRootKey, Epoch, Generation, Lsn, PageId, Partition, SegmentId, StreamKey, TimestampMs, WriterId,
};

/// Bytes put over an object at an offset.
type Patch<'a> = &'a [(usize, &'a [u8])];
/// What is wrong, in which part, at which offset; `None` for nothing.
type Verdict = Option<(Kind, Section, u64)>;

const ACTIVE: usize = 320;
const SECTION_1: usize = 448;
const ROOT_1: usize = SECTION_1 + 16;
const SECTION_2: usize = ROOT_1 + 80;
const ROOT_2: usize = SECTION_2 + 16;
const HEAD_TRAILER: usize = ROOT_2 + 80;

fn sample_head() -> Vec<u8> {
    sample().0.encode().to_vec()
}

/// The leaf of the first two segments.
fn sample_leaf() -> Vec<u8> {
    sample().1[0].bytes.to_vec()
}

/// The index page over the first three leaves.
fn sample_index() -> Vec<u8> {
    sample().1[3].bytes.to_vec()
}

fn patched(mut object: Vec<u8>, patch: Patch<'_>) -> Vec<u8> {
    for (at, bytes) in patch {
        object[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    rehash(&mut object);
    object
}

fn verdict<T>(result: Result<T, FormatError>) -> Verdict {
    result.err().map(|error| (error.kind, error.section, error.offset))
}

#[track_caller]
fn check_head(patch: Patch<'_>, expected: Verdict) {
    assert_eq!(verdict(Head::decode(&patched(sample_head(), patch))), expected, "{patch:?}");
}

#[track_caller]
fn check_head_field(at: usize, value: &[u8], kind: Kind) {
    check_head(&[(at, value)], Some((kind, Section::HeadHeader, at as u64)));
}

#[track_caller]
fn check_page(object: Vec<u8>, patch: Patch<'_>, expected: Verdict) {
    assert_eq!(verdict(Page::decode(&patched(object, patch))), expected, "{patch:?}");
}

#[expect(clippy::unnecessary_wraps, reason = "a verdict may also be `None`: accepted")]
fn invalid(section: Section, at: usize) -> Verdict {
    Some((Kind::Invalid, section, at as u64))
}

fn u16be(value: u16) -> [u8; 2] {
    value.to_be_bytes()
}

fn u32be(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

fn u64be(value: u64) -> [u8; 8] {
    value.to_be_bytes()
}

#[test]
fn damaged_golden_objects_get_the_originals_verdict() {
    let Some(folder) = golden() else { return };
    let kinds = |error: &str| -> &'static [Kind] {
        if error.contains("unsupported version") {
            &[Kind::UnsupportedVersion]
        } else if error.contains("unsupported segment layout") {
            &[Kind::UnsupportedLayout]
        } else if error.contains("integrity mismatch") {
            &[Kind::Integrity]
        } else {
            &[Kind::Invalid, Kind::Truncated, Kind::UnsupportedCodec, Kind::UnsupportedHash]
        }
    };
    let mut seen = 0;
    for case in items(&read_json(&folder.join("bad.json"))) {
        let object = read(&folder.join(text(&case["file"])));
        let found = match text(&case["kind"]) {
            "head" => Head::decode(&object).err(),
            "leaf" | "index" => Page::decode(&object).err(),
            _ => continue,
        };
        seen += 1;
        let expected = text(&case["parser_error"]);
        assert_eq!(found.is_none(), expected.is_empty(), "{case}: {found:?}");
        if let Some(error) = found {
            assert!(kinds(expected).contains(&error.kind), "{case}: {error:?}");
        }
    }
    assert!(seen > 0);
}

#[test]
fn every_reserved_byte_must_be_zero() {
    let check = |object: fn() -> Vec<u8>, decode: fn(&[u8]) -> Verdict, reserved: &[std::ops::Range<usize>]| {
        for at in reserved.iter().cloned().flatten() {
            let object = patched(object(), &[(at, &[1])]);
            assert!(matches!(decode(&object), Some((Kind::Invalid, _, _))), "byte {at}: {:?}", decode(&object));
        }
    };
    let trailer = |at: usize| [at + 6..at + 8, at + 24..at + 32];
    let head = [36..40, 184..192, 312..320, ACTIVE + 120..ACTIVE + 128];
    let sections = [SECTION_1, SECTION_2].map(|at| [at + 5..at + 8, at + 12..at + 16]);
    let roots = [ROOT_1, ROOT_2].map(|at| [at + 1..at + 4, at + 72..at + 80]);
    let head = [&head[..], sections.as_flattened(), roots.as_flattened(), &trailer(HEAD_TRAILER)].concat();
    check(sample_head, |object| verdict(Head::decode(object)), &head);
    let page = [8..12, 17..18, 28..32, 120..128];
    let leaf = [&page[..], &[248..256, 376..384], &trailer(384)].concat();
    check(sample_leaf, |object| verdict(Page::decode(object)), &leaf);
    let index = [&page[..], &[129..132, 200..208, 209..212, 280..288], &trailer(368)].concat();
    check(sample_index, |object| verdict(Page::decode(object)), &index);
    let empty = || Head::initial(IDENTITY, CatalogLayout::default(), Lsn(5)).encode().to_vec();
    for at in 192..320 {
        let object = patched(empty(), &[(at, &[1])]);
        assert_eq!(verdict(Head::decode(&object)), invalid(Section::LastSegment, at));
    }
}

#[test]
fn head_header_rules() {
    check_head(&[], None);
    check_head_field(0, b"PLCX", Kind::Invalid);
    check_head_field(4, &u16be(0), Kind::UnsupportedVersion);
    check_head_field(4, &u16be(2), Kind::UnsupportedVersion);
    check_head_field(6, &u16be(191), Kind::Invalid);
    check_head_field(8, &u32be(3), Kind::Invalid);
    check_head_field(16, &u16be(2), Kind::UnsupportedHash);
    check_head_field(18, &u16be(0), Kind::UnsupportedLayout);
    check_head_field(18, &u16be(2), Kind::UnsupportedLayout);
    check_head_field(20, &u32be(0), Kind::Invalid);
    check_head(&[(20, &u32be(1024))], None);
    check_head_field(20, &u32be(1025), Kind::Invalid);
    check_head_field(24, &u32be(1), Kind::Invalid);
    check_head(&[(24, &u32be(2))], None);
    check_head(&[(24, &u32be(1024))], None);
    check_head_field(24, &u32be(1025), Kind::Invalid);
    check_head_field(28, &u32be(2), Kind::Invalid);
    check_head_field(32, &u32be(65), Kind::Invalid);
    check_head_field(48, &u64be(19), Kind::Invalid);
    check_head_field(48, &u64be(1), Kind::Invalid);
    check_head(&[(56, &u64be(18)), (64, &u64be(1))], None);
    check_head(&[(56, &u64be(19)), (64, &u64be(1))], invalid(Section::HeadHeader, 56));
    check_head_field(56, &u64be(1), Kind::Invalid);
    check_head_field(72, &u64be(0), Kind::Invalid);
    check_head(&[(96, &[0; 16])], invalid(Section::HeadHeader, 72));
    check_head(&[(88, &u64be(u64::MAX))], None);
    check_head(&[(88, &u64be(8))], invalid(Section::HeadHeader, 176));
    check_head_field(112, &[0; 32], Kind::Invalid);
    check_head_field(144, &[0; 32], Kind::Invalid);
    check_head_field(176, &u64be(8), Kind::Invalid);
    assert_eq!(verdict(Head::decode(&[0; 351])), Some((Kind::Truncated, Section::HeadHeader, 351)));
}

/// What is not understood is reported before a hash that differs; what breaks a rule deeper inside is not.
#[test]
fn parse_order() {
    let broken = |mut object: Vec<u8>, at: usize, value: &[u8]| {
        object[at..at + value.len()].copy_from_slice(value);
        object
    };
    let head = |at, value: &[u8]| verdict(Head::decode(&broken(sample_head(), at, value))).map(|(kind, ..)| kind);
    let leaf = |at, value: &[u8]| verdict(Page::decode(&broken(sample_leaf(), at, value))).map(|(kind, ..)| kind);
    assert_eq!(head(4, &u16be(2)), Some(Kind::UnsupportedVersion));
    assert_eq!(head(16, &u16be(9)), Some(Kind::UnsupportedHash));
    assert_eq!(head(18, &u16be(9)), Some(Kind::UnsupportedLayout));
    assert_eq!(head(20, &u32be(0)), Some(Kind::Invalid));
    assert_eq!(head(48, &u64be(99)), Some(Kind::Integrity));
    assert_eq!(head(HEAD_TRAILER + 8, &u64be(0)), Some(Kind::Integrity));
    assert_eq!(head(HEAD_TRAILER, b"PLCX"), Some(Kind::Invalid));
    assert_eq!(leaf(4, &u16be(2)), Some(Kind::UnsupportedVersion));
    assert_eq!(leaf(18, &u16be(9)), Some(Kind::UnsupportedHash));
    assert_eq!(leaf(72, &u64be(0)), Some(Kind::Invalid));
    assert_eq!(leaf(188, &u16be(9)), Some(Kind::Integrity));
    assert_eq!(leaf(384 + 16, &u64be(0)), Some(Kind::Integrity));
}

#[test]
fn head_body_rules() {
    let last = |at: usize| invalid(Section::LastSegment, 192 + at);
    let active = |at: usize| invalid(Section::ActiveEntries, ACTIVE + at);
    let section = |at: usize| invalid(Section::HeadSection, at);
    check_head(&[(8, &u32be(0))], last(7));
    check_head(&[(40, &u64be(19))], last(8));
    check_head(&[(192 + 40, &u64be(1))], last(0));
    check_head(&[(192 + 80, &u64be(2))], last(80));
    check_head(&[(ACTIVE + 80, &u64be(2))], active(80));
    check_head(&[(72, &u64be(2)), (192 + 80, &u64be(2)), (ACTIVE + 80, &u64be(2))], None);
    check_head(&[(ACTIVE, &u64be(15)), (ACTIVE + 32, &u32be(3))], active(0));
    check_head(&[(ACTIVE + 16, &u64be(0))], active(16));
    check_head(&[(28, &u32be(0))], section(ACTIVE));
    check_head(&[(32, &u32be(1))], section(SECTION_2));
    check_head(&[(32, &u32be(3))], Some((Kind::Truncated, Section::HeadSection, HEAD_TRAILER as u64)));
    check_head(&[(80, &u64be(8))], section(ROOT_1 + 40));
    check_head(&[(SECTION_1, b"PLCT")], section(SECTION_1));
    check_head(&[(SECTION_1 + 4, &[2])], section(SECTION_1 + 4));
    check_head(&[(SECTION_1 + 8, &u32be(3))], section(SECTION_1 + 8));
    check_head(&[(ROOT_1, &[1])], section(ROOT_1));
    check_head(&[(ROOT_2, &[0]), (ROOT_2 + 64, &u64be(3))], section(ROOT_2));
    check_head(&[(ROOT_1 + 8, &u64be(13))], section(ROOT_1 + 8));
    check_head(&[(ROOT_1 + 24, &u64be(0))], section(ROOT_1 + 24));
    check_head(&[(ROOT_2 + 8, &u64be(1))], invalid(Section::HeadHeader, 48));
    check_head(&[(ROOT_2 + 64, &u64be(7))], invalid(Section::HeadHeader, 176));
}

#[test]
fn reference_rules() {
    let at = |offset: usize| invalid(Section::PageEntries, 128 + offset);
    let check = |patch: Patch<'_>, expected: Verdict| check_page(sample_index(), patch, expected);
    check(&[], None);
    check(&[(128, &[64])], at(0));
    check(&[(128, &[1])], at(0));
    check(&[(128 + 4, &u32be(0))], at(4));
    check(&[(128 + 4, &u32be(1025))], at(4));
    check(&[(128 + 4, &u32be(3))], at(64));
    check(&[(128 + 4, &u32be(1))], at(64));
    check(&[(128 + 8, &u64be(4))], at(16));
    check(&[(128 + 16, &u64be(u64::MAX))], at(16));
    check(&[(128 + 24, &u64be(100))], at(32));
    check(&[(128 + 40, &u64be(0))], at(40));
    check(&[(128 + 40, &u64be(99))], at(40));
    check(&[(128 + 48, &[0; 16])], at(48));
    check(&[(128 + 4, &u32be(5)), (128 + 64, &u64be(5))], at(64));
    check(&[(208 + 8, &u64be(5))], invalid(Section::PageEntries, 208 + 8));
    check(&[(208 + 24, &u64be(0))], invalid(Section::PageEntries, 208 + 24));
    check(&[(16, &[0])], invalid(Section::PageHeader, 16));
    check(&[(16, &[64])], invalid(Section::PageHeader, 16));
    check(&[(16, &[2])], at(0));
    check(&[(112, &u64be(5))], invalid(Section::PageHeader, 112));
}

#[test]
fn segment_entry_rules() {
    let at = |offset: usize| invalid(Section::PageEntries, 128 + offset);
    let check = |patch: Patch<'_>, expected: Verdict| check_page(sample_leaf(), patch, expected);
    check(&[], None);
    check(&[(128, &u64be(2))], at(8));
    check(&[(128 + 8, &u64be(u64::MAX))], at(8));
    check(&[(128 + 8, &u64be(u64::MAX - 1))], at(32));
    check(&[(128 + 16, &u64be(3))], at(24));
    check(&[(128 + 32, &u32be(1))], at(32));
    check(&[(128 + 36, &u32be(0))], at(36));
    check(&[(128 + 40, &u64be(0))], at(40));
    check(&[(128 + 56, &u32be(0))], at(56));
    check(&[(128 + 60, &u16be(2))], Some((Kind::UnsupportedCodec, Section::PageEntries, 188)));
    check(&[(128 + 62, &u16be(2))], Some((Kind::UnsupportedHash, Section::PageEntries, 190)));
    check(&[(128 + 80, &u64be(0))], at(80));
    check(&[(128 + 88, &[0; 16])], at(88));
    check(&[(128 + 104, &[0; 16])], at(104));
    check(&[(256, &u64be(1)), (256 + 32, &u32be(3))], invalid(Section::PageEntries, 256));
    check(&[(256 + 16, &u64be(1))], invalid(Section::PageEntries, 256 + 16));
}

#[test]
fn page_header_rules() {
    let header = |at: usize| invalid(Section::PageHeader, at);
    let check = |patch: Patch<'_>, expected: Verdict| check_page(sample_leaf(), patch, expected);
    check(&[(0, b"PLCH")], header(0));
    check(&[(4, &u16be(2))], Some((Kind::UnsupportedVersion, Section::PageHeader, 4)));
    check(&[(6, &u16be(129))], header(6));
    check(&[(16, &[1])], header(16));
    check(&[(18, &u16be(2))], Some((Kind::UnsupportedHash, Section::PageHeader, 18)));
    check(&[(20, &u32be(0))], header(20));
    check(&[(20, &u32be(1025))], header(20));
    check(&[(20, &u32be(1))], header(288));
    check(&[(20, &u32be(3))], Some((Kind::Truncated, Section::PageHeader, 416)));
    check(&[(24, &u32be(80))], header(24));
    check(&[(32, &u64be(1))], header(32));
    check(&[(40, &u64be(1))], header(40));
    check(&[(48, &u64be(9))], header(48));
    check(&[(56, &u64be(9))], header(56));
    check(&[(64, &u64be(0))], header(64));
    check(&[(72, &u64be(0))], header(72));
    check(&[(80, &[0; 32])], header(80));
    check(&[(112, &u64be(3))], header(112));
    let epochs = |first, second, page| [(128 + 80, u64be(first)), (256 + 80, u64be(second)), (72, u64be(page))];
    let check_epochs = |values: [(usize, [u8; 8]); 3], expected| {
        let patch: Vec<_> = values.iter().map(|(at, value)| (*at, &value[..])).collect();
        check_page(sample_leaf(), &patch, expected);
    };
    check_epochs(epochs(1, 2, 2), None);
    check_epochs(epochs(2, 1, 2), invalid(Section::PageEntries, 256 + 80));
    check_epochs(epochs(1, 2, 1), invalid(Section::PageEntries, 256 + 80));
}

#[test]
fn a_page_must_be_the_one_its_parent_means() {
    let (head, pages) = sample();
    let page = Page::decode(&pages[0].bytes).unwrap();
    let right = page.reference;
    assert_eq!(page.check(&right, head.writer_epoch, &IDENTITY), Ok(()));
    assert_eq!(page.check(&right, Epoch(9), &IDENTITY), Ok(()));
    let check = |reference: PageRef, epoch: u64, identity: LogIdentity, at: u64| {
        let expected = Some((Kind::Mismatch, Section::PageHeader, at));
        assert_eq!(verdict(page.check(&reference, Epoch(epoch), &identity)), expected);
    };
    check(right, 0, IDENTITY, 72);
    check(right, 1, LogIdentity { partition: Partition(8), ..IDENTITY }, 12);
    check(right, 1, LogIdentity { stream_key: StreamKey([1; 32]), ..IDENTITY }, 80);
    check(PageRef { level: 1, ..right }, 1, IDENTITY, 16);
    check(PageRef { entry_count: 3, ..right }, 1, IDENTITY, 20);
    check(PageRef { seq_lo: Lsn(1), ..right }, 1, IDENTITY, 32);
    check(PageRef { seq_hi: Lsn(4), ..right }, 1, IDENTITY, 40);
    check(PageRef { min_timestamp: TimestampMs(0), ..right }, 1, IDENTITY, 48);
    check(PageRef { max_timestamp: TimestampMs(9), ..right }, 1, IDENTITY, 56);
    check(PageRef { generation: Generation(9), ..right }, 1, IDENTITY, 64);
    check(PageRef { segment_count: 3, ..right }, 1, IDENTITY, 112);
    check(PageRef { page_id: PageId([1; 16]), ..right }, 1, IDENTITY, 0);
}

#[test]
fn a_head_must_be_of_the_very_log() {
    let (head, _) = sample();
    assert_eq!(head.check_identity(&IDENTITY), Ok(()));
    let check = |identity: LogIdentity, at: u64| {
        let expected = Some((Kind::Mismatch, Section::HeadHeader, at));
        assert_eq!(verdict(head.check_identity(&identity)), expected);
    };
    check(LogIdentity { partition: Partition(8), ..IDENTITY }, 12);
    check(LogIdentity { stream_key: StreamKey([1; 32]), ..IDENTITY }, 112);
    check(LogIdentity { data_root_key: DataRootKey([1; 32]), ..IDENTITY }, 144);
}

const TRAILER: Trailer = Trailer {
    partition: Partition(7),
    codec: Codec::Zstd,
    hash: HashAlgo::Xxh64,
    base_lsn: Lsn(10),
    last_lsn: Lsn(12),
    min_timestamp: TimestampMs(-5),
    max_timestamp: TimestampMs(5),
    record_count: 3,
    block_count: 2,
    block_index_offset: 500,
    block_index_length: 192,
    total_size: 884,
    created: TimestampMs(77),
    segment_id: SegmentId([3; 16]),
    writer_tag: WriterId([4; 16]),
    segment_hash: 21,
    trailer_hash: 22,
};

#[test]
fn a_segment_must_be_the_one_its_entry_means() {
    let entry = SegmentEntry::from_trailer(&TRAILER, Epoch(6));
    assert_eq!((entry.writer_epoch, entry.size_bytes), (Epoch(6), 884));
    assert_eq!(entry.check_trailer(&Trailer { created: TimestampMs(0), ..TRAILER }, Partition(7)), Ok(()));
    let check = |trailer: Trailer, at: u64| {
        let found = verdict(entry.check_trailer(&trailer, Partition(7)));
        assert_eq!(found, Some((Kind::Mismatch, Section::SegmentTrailer, trailer.total_size - 192 + at)));
    };
    check(Trailer { partition: Partition(8), ..TRAILER }, 12);
    check(Trailer { codec: Codec::None, ..TRAILER }, 16);
    check(Trailer { hash: HashAlgo::Crc32c, ..TRAILER }, 18);
    check(Trailer { base_lsn: Lsn(9), ..TRAILER }, 24);
    check(Trailer { last_lsn: Lsn(13), ..TRAILER }, 32);
    check(Trailer { min_timestamp: TimestampMs(-6), ..TRAILER }, 40);
    check(Trailer { max_timestamp: TimestampMs(6), ..TRAILER }, 48);
    check(Trailer { record_count: 4, ..TRAILER }, 56);
    check(Trailer { block_count: 1, ..TRAILER }, 60);
    check(Trailer { block_index_offset: 499, ..TRAILER }, 64);
    check(Trailer { block_index_length: 128, ..TRAILER }, 72);
    check(Trailer { total_size: 885, ..TRAILER }, 80);
    check(Trailer { segment_id: SegmentId([1; 16]), ..TRAILER }, 96);
    check(Trailer { writer_tag: WriterId([1; 16]), ..TRAILER }, 112);
    check(Trailer { segment_hash: 1, ..TRAILER }, 128);
    check(Trailer { trailer_hash: 1, ..TRAILER }, 136);
}
