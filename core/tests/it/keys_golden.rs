//! Object keys and stream ids against the original's.
use crate::catalog_support::{golden, items, number, read_json, text, unhex};
use bucketlog_core::format::catalog::PageRef;
use bucketlog_core::format::keys::{LogKeys, ObjectName, StreamId, StreamIdError};
use bucketlog_core::ids::{Epoch, Generation, Lsn, PageId, Partition, SegmentId, TimestampMs};
use serde_json::Value;

const LEAF: PageRef = PageRef {
    level: 0,
    entry_count: 1,
    seq_lo: Lsn(1),
    seq_hi: Lsn(300),
    min_timestamp: TimestampMs(0),
    max_timestamp: TimestampMs(0),
    generation: Generation(9),
    page_id: PageId([0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f]),
    segment_count: 1,
};

/// The key is written as expected, and read back to the same name.
#[track_caller]
fn check_key(keys: &LogKeys, written: &str, expected: &str, name: ObjectName) {
    assert_eq!(written, expected);
    assert_eq!(keys.parse(expected), Some(name), "{expected}");
    let file = expected.rsplit('/').next().unwrap();
    assert_eq!(ObjectName::from_file_name(file), Some(name), "{file}");
}

fn page_name(page: &PageRef) -> ObjectName {
    ObjectName::Page {
        level: page.level,
        seq_hi: page.seq_hi,
        seq_lo: page.seq_lo,
        generation: page.generation,
        page_id: page.page_id,
    }
}

fn check_row(row: &Value) {
    let partition = Partition(u32::try_from(number(&row["partition"])).unwrap());
    let keys = match text(&row["stream_id"]) {
        "" => LogKeys::without_stream("catalog", "objlog", partition),
        id => LogKeys::with_prefixes("/catalog/", "objlog//", &StreamId::new(id).unwrap(), partition),
    };
    assert_eq!(keys.identity().stream_key.to_string(), text(&row["stream_key"]));
    assert_eq!(keys.head().split('/').nth(1), row["bucket"].as_str());
    check_key(&keys, keys.head(), text(&row["head_key"]), ObjectName::Head);
    check_key(&keys, &keys.page(&LEAF), text(&row["leaf_key(lo=1,hi=300,gen=9,id=50..5f)"]), page_name(&LEAF));
    let index = PageRef { level: 2, ..LEAF };
    check_key(&keys, &keys.page(&index), text(&row["index_l2_key"]), page_name(&index));
    let (base_lsn, epoch) = (Lsn(8250), Epoch(4));
    let segment_id = SegmentId(unhex("303132333435363738393a3b3c3d3e3f"));
    let written = keys.segment(base_lsn, epoch, &segment_id);
    let expected = text(&row["segment_key(base=8250,epoch=4,uuid=30..3f)"]);
    check_key(&keys, &written, expected, ObjectName::Segment { base_lsn, epoch, segment_id });
}

fn check_canonical(row: &Value) {
    let hex = text(&row["canonicalize_hex"]);
    let raw: Vec<u8> = (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
    let found = StreamId::new(&raw);
    assert_eq!(found.is_err(), !text(&row["error"]).is_empty(), "{hex}: {found:?}");
    if let Ok(id) = found {
        assert_eq!(id.as_str(), text(&row["canonical"]));
    }
}

#[test]
fn keys_are_those_of_the_original() {
    let Some(folder) = golden() else { return };
    let rows = read_json(&folder.join("keys.json"));
    for row in items(&rows) {
        if row["canonicalize_hex"].is_string() { check_canonical(row) } else { check_row(row) }
    }
}

#[test]
fn published_key_vectors() {
    let buckets = [
        ("hosts/host-a/events", 0, "f93"),
        ("hosts/host-a/events", 1, "c90"),
        ("hosts/host-a/events", 7, "b78"),
        ("hosts/host-b/events", 0, "3c3"),
        ("agents/a7/sessions/42", 0, "5ce"),
        ("workflows/w19/events", 0, "6aa"),
        ("orders", 7, "693"),
        ("demo/orders", 7, "60d"),
        ("tenant/events", 7, "41a"),
    ];
    for (id, partition, bucket) in buckets {
        let keys = LogKeys::new(&StreamId::new(id).unwrap(), Partition(partition));
        assert!(keys.head().starts_with(&format!("objlog/catalog/{bucket}/streams/")), "{}", keys.head());
    }
    for (partition, bucket) in [(1, "189"), (3, "17e"), (7, "661")] {
        let keys = LogKeys::without_stream("", "", Partition(partition));
        assert_eq!(keys.head(), format!("{bucket}/p{partition:08}/head.plc"));
    }
    let stream = StreamId::new("//hosts/host-a/events/").unwrap();
    let keys = LogKeys::with_prefixes("c", "root", &stream, Partition(7));
    let folder = "b78/streams/645c418edae21662304240f5181b1b63c713bfc0b062a2c3b1b84387aa786c91/p00000007";
    let id = SegmentId(unhex("01020300000000000000000000000000"));
    let segment = "seg-00000000000000000100-e00000000000000000003-01020300000000000000000000000000.plseg";
    assert_eq!(keys.segment(Lsn(100), Epoch(3), &id), format!("root/segments/{folder}/{segment}"));
    assert_eq!(keys.retention(), format!("c/{folder}/maintenance/retention.json"));
    assert_eq!(keys.gc_state(), format!("c/{folder}/maintenance/gc/state.json"));
    assert_eq!(keys.pages_prefix(3), format!("c/{folder}/pages/l03/"));
    assert_eq!(keys.parse(&keys.retention()), Some(ObjectName::Retention));
    assert_eq!(keys.parse(&keys.gc_state()), Some(ObjectName::GcState));
    let roots = [
        ("objlog", "01328492c09e716366cb9bb49904223da884fa4c0a74ae7686a050fc65b7c368"),
        ("/data-root/", "4243fc44746589a7929fc750ac2c0b4c353a6afd968ef4289acac19d0f81b5d2"),
        ("prod", "6754af9632a2745e85c293e5aac0863370d9bd3330b9938c00cadfd215227d77"),
    ];
    for (root, key) in roots {
        let keys = LogKeys::with_prefixes("c", root, &stream, Partition(0));
        assert_eq!(keys.identity().data_root_key.to_string(), key);
    }
}

#[test]
fn stream_ids_keep_the_rules() {
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "expectations are written in place")]
    fn check(id: &[u8], expected: Result<&str, StreamIdError>) {
        assert_eq!(StreamId::new(id).as_ref().map(StreamId::as_str), expected.as_ref().copied(), "{id:?}");
    }
    check(b"///orders//", Ok("orders"));
    check("日本語/é".as_bytes(), Ok("日本語/é"));
    check(&[b'x'; 512], Ok(&"x".repeat(512)));
    check(b"/...x/..y", Ok("...x/..y"));
    check(b"", Err(StreamIdError::Empty));
    check(b"///", Err(StreamIdError::Empty));
    check(b"\xff", Err(StreamIdError::NotUtf8));
    check(&[b'x'; 513], Err(StreamIdError::TooLong(513)));
    check(&[b"/", &[b'x'; 512][..], b"/"].concat(), Ok(&"x".repeat(512)));
    check(b"hosts//events", Err(StreamIdError::EmptySegment));
    check(b"hosts/./events", Err(StreamIdError::DotSegment));
    check(b"hosts/../events", Err(StreamIdError::DotSegment));
    for control in ['\0', '\n', '\u{1f}', '\u{7f}', '\u{80}', '\u{85}', '\u{9f}'] {
        check(format!("hosts/{control}events").as_bytes(), Err(StreamIdError::Control(control)));
    }
    check("a\u{a0}b\u{200b}".as_bytes(), Ok("a\u{a0}b\u{200b}"));
}

#[test]
fn keys_are_parsed_strictly() {
    let keys = LogKeys::with_prefixes("c", "d", &StreamId::new("s").unwrap(), Partition(1));
    let leaf = keys.page(&LEAF);
    let index = keys.page(&PageRef { level: 63, ..LEAF });
    let segment = keys.segment(Lsn(8250), Epoch(4), &SegmentId([0xab; 16]));
    assert!(keys.parse(&leaf).is_some() && keys.parse(&index).is_some() && keys.parse(&segment).is_some());
    let no_id = "0".repeat(32);
    let bad = [
        leaf.replace("-00000000000000000300-", "-300-"),
        leaf.replace("-00000000000000000300-", "-99999999999999999999-"),
        leaf.replace("-00000000000000000300-", "-+0000000000000000300-"),
        leaf.replace("-00000000000000000300-", "-00000000000000000000-"),
        leaf.replace("-00000000000000000009-", "-00000000000000000000-"),
        leaf.replace("505152535455565758595a5b5c5d5e5f", "505152535455565758595A5B5C5D5E5F"),
        leaf.replace("505152535455565758595a5b5c5d5e5f", &no_id),
        leaf.replace("505152535455565758595a5b5c5d5e5f", "50"),
        leaf.replace("/l00/", "/l01/"),
        leaf.replace("/l00/", "/l0/"),
        leaf.replace("/l00/", "/l00/x/"),
        leaf.replace("/leaf-", "/index-l00-"),
        leaf.replace(".plc", "-1.plc"),
        leaf.replace(".plc", ".plc.tmp"),
        format!("{leaf}/"),
        format!("/{leaf}"),
        index.replace("l63", "l64"),
        index.replace("index-l63", "index-l62"),
        segment.replace("-e00000000000000000004-", "-e00000000000000000000-"),
        segment.replace("-e00000000000000000004-", "-00000000000000000004-"),
        segment.replace(&"ab".repeat(16), &no_id),
        segment.replace(&"ab".repeat(16), &"AB".repeat(16)),
        segment.replace("/seg-", "/x/seg-"),
        segment.replace(".plseg", "-0.plseg"),
        segment.replace("seg-00", "seg-"),
        keys.head().replace("head.plc", "x/head.plc"),
        format!("{}x", keys.retention()),
    ];
    for key in bad {
        assert_eq!(keys.parse(&key), None, "{key}");
    }
    let other = LogKeys::with_prefixes("c", "d", &StreamId::new("s").unwrap(), Partition(2));
    assert_eq!(other.parse(&leaf), None);
    assert_eq!(ObjectName::from_file_name("index-l64-x.plc"), None);
}
