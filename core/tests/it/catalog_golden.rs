//! The catalog against the original's objects: every byte it wrote, every lookup it answered.
use crate::catalog_support::{
    IDENTITY, Store, WRITER, golden, hash, items, next_segment, number, read, read_json, sha256, synthetic, text, unhex,
};
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::catalog::{CatalogLayout, Head, Page, PageEntries, SealedPage, SegmentEntry, Trim};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::Codec;
use bucketlog_core::ids::{Epoch, Lsn, Partition, SegmentId, TimestampMs, WriterId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A history being replayed.
struct Replay {
    folder: PathBuf,
    keys: LogKeys,
    head: Head,
    store: Store,
    segments: Vec<SegmentEntry>,
    /// Every page written so far, by key.
    written: BTreeMap<String, SealedPage>,
}

impl Replay {
    fn new(folder: &Path, catalog: &Value, next_lsn: Lsn) -> Self {
        let prefix = |name: &str, default| catalog[name].as_str().unwrap_or(default).to_owned();
        let keys = LogKeys::with_prefixes(
            &prefix("catalog_prefix", "catalog"),
            &prefix("data_root", "objlog"),
            &StreamId::new(text(&catalog["stream_id"])).unwrap(),
            Partition(u32::try_from(number(&catalog["partition"])).unwrap()),
        );
        let limit = |name: &str| u32::try_from(number(&catalog[name])).unwrap();
        let layout = CatalogLayout {
            hash: hash(&catalog["hash"]),
            leaf_limit: limit("leaf_limit"),
            index_limit: limit("index_limit"),
        };
        let head = Head::initial(*keys.identity(), layout, next_lsn);
        let (store, segments, written) = (Store::default(), Vec::new(), BTreeMap::new());
        Self { folder: folder.to_owned(), keys, head, store, segments, written }
    }

    /// Appends synthetic segments until there are `count`; the pages of the last append.
    fn append_until(&mut self, count: u64) -> Vec<SealedPage> {
        let mut pages = Vec::new();
        while self.head.segment_count < count {
            pages.clear();
            let segment = synthetic(self.head.segment_count, &self.head);
            self.segments.push(segment);
            self.head.append(segment, &mut pages).expect("a golden segment is appended");
            self.keep(&pages);
        }
        pages
    }

    fn takeover(&mut self, writer: &Value) {
        self.head = self.head.takeover(WriterId(unhex(text(writer)))).unwrap();
    }

    fn trim(&mut self, version: u64, before: Lsn) -> Vec<SealedPage> {
        match self.store.trim(&self.head, version, before) {
            Ok(Trim::Done { head, pages }) => {
                self.head = head;
                self.keep(&pages);
                pages
            }
            other => panic!("retention before {before}: {other:?}"),
        }
    }

    fn keep(&mut self, pages: &[SealedPage]) {
        self.store.put(pages);
        self.written.extend(pages.iter().map(|page| (self.keys.page(&page.reference), page.clone())));
    }

    fn step(&mut self, step: &Value) {
        let count = step["after_segments"].as_u64().unwrap_or(0);
        match text(&step["op"]) {
            "new" => {}
            "takeover" => {
                self.append_until(count);
                self.takeover(&step["writer_id"]);
            }
            "append" => {
                let pages = self.append_until(count);
                self.check_written(&pages, &step["pages_written_by_this_append"]);
            }
            "retention" => {
                self.append_until(count);
                let pages = self.trim(number(&step["policy_version"]), Lsn(number(&step["before_lsn"])));
                self.check_written(&pages, &step["pages_written"]);
            }
            other => panic!("unknown step {other}"),
        }
        self.check_head(&step["head"]);
        for lookup in items(&step["lookups"]) {
            self.check_lookup(lookup);
        }
    }

    /// The same keys; the original lists them in no particular order.
    fn check_written(&self, pages: &[SealedPage], expected: &Value) {
        let mut found: Vec<_> = pages.iter().map(|page| self.keys.page(&page.reference)).collect();
        let mut expected: Vec<_> = items(expected).iter().map(|key| text(key).to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }

    fn check_head(&self, expected: &Value) {
        let bytes = self.head.encode();
        assert_eq!(bytes, read(&self.folder.join(text(&expected["file"]))), "{expected}");
        assert_eq!(sha256(&bytes), text(&expected["sha256"]));
        assert_eq!(bytes.len() as u64, number(&expected["size"]));
        let head = Head::decode(&bytes).expect("a golden head is valid");
        assert_eq!(head, self.head);
        head.check_identity(self.keys.identity()).expect("the head is this log's");
        let fields = [
            ("next_lsn", head.next_lsn.0),
            ("oldest_lsn", head.oldest_lsn.0),
            ("generation", head.generation.0),
            ("writer_epoch", head.writer_epoch.0),
            ("segment_count", head.segment_count),
            ("reachable_segment_count", head.reachable_segment_count),
            ("applied_retention_lsn", head.applied_retention_lsn.0),
            ("applied_retention_version", head.applied_retention_version),
            ("active_count", head.active.len() as u64),
            ("level_count", head.sections.len() as u64),
        ];
        for (name, found) in fields {
            assert_eq!(found, number(&expected[name]), "{name}");
        }
        for (section, expected) in head.sections.iter().zip(items(&expected["sections"])) {
            let found: Vec<_> = section.iter().map(|reference| self.keys.page(reference)).collect();
            let expected: Vec<_> = items(&expected["entries"]).iter().map(|entry| text(&entry["key"])).collect();
            assert_eq!(found, expected);
        }
    }

    fn check_lookup(&self, lookup: &Value) {
        let (found, gets) = match lookup["timestamp_ms"].as_i64() {
            Some(timestamp) => self.store.locate_timestamp(&self.head, TimestampMs(timestamp)),
            None => self.store.locate(&self.head, Lsn(number(&lookup["lsn"]))),
        };
        assert_eq!(gets, number(&lookup["page_gets"]), "{lookup}");
        assert_eq!(found.is_some(), lookup["found"].as_bool().unwrap(), "{lookup}");
        if let Some(found) = found {
            assert_eq!(found.base_lsn.0, number(&lookup["base_lsn"]), "{lookup}");
            if let Some(uri) = lookup["uri"].as_str() {
                assert_eq!(self.keys.segment(found.base_lsn, found.writer_epoch, &found.segment_id), uri);
            }
        }
    }

    /// Every page that the original stored, byte for byte, and what its entry in the list says.
    fn check_pages(&self, expected: &Value) {
        for page in items(expected) {
            let key = text(&page["key"]);
            let found = self.written.get(key).unwrap_or_else(|| panic!("{key} was not written"));
            assert_eq!(sha256(&found.bytes), text(&page["sha256"]), "{key}");
            if let Some(file) = page["file"].as_str() {
                assert_eq!(found.bytes, read(&self.folder.join(file)), "{key}");
            }
            let decoded = Page::decode(&found.bytes).expect("a golden page is valid");
            assert_eq!(decoded.reference, found.reference);
            assert_eq!(u64::from(decoded.reference.level), number(&page["level"]));
            assert_eq!(decoded.reference.segment_count, number(&page["segment_count"]));
            assert_eq!(decoded.reference.seq_lo.0, number(&page["seq_lo"]));
            assert_eq!(decoded.reference.seq_hi.0, number(&page["seq_hi"]));
        }
    }

    fn check_segments(&self, expected: &Value) {
        for expected in items(expected) {
            let found = self.segments[usize::try_from(number(&expected["i"])).unwrap()];
            assert_eq!(
                self.keys.segment(found.base_lsn, found.writer_epoch, &found.segment_id),
                text(&expected["uri"])
            );
            assert_eq!(found.last_lsn.0, number(&expected["last_lsn"]));
            assert_eq!(format!("{:016x}", found.segment_hash), text(&expected["segment_hash"]));
            assert_eq!(found.codec.name(), text(&expected["codec"]));
            assert_eq!(found.hash.name(), text(&expected["hash"]));
            assert_eq!(found.writer_tag.to_string(), text(&expected["writer_tag"]));
        }
    }
}

fn catalogs(folder: &Path) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(folder.join("catalogs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "sweep"))
        .collect();
    files.sort();
    files.iter().map(|path| read_json(path)).collect()
}

fn initial_lsn(catalog: &Value) -> Lsn {
    Lsn(number(&catalog["steps"][0]["head"]["next_lsn"]))
}

#[test]
fn histories_are_reproduced_bit_for_bit() {
    let Some(folder) = golden() else { return };
    let catalogs = catalogs(&folder);
    assert!(!catalogs.is_empty());
    for catalog in catalogs {
        let mut replay = Replay::new(&folder, &catalog, initial_lsn(&catalog));
        assert_eq!(replay.keys.head(), text(&catalog["head_key"]));
        for step in items(&catalog["steps"]) {
            replay.step(step);
        }
        replay.check_pages(&catalog["pages"]);
        replay.check_segments(&catalog["segments"]);
    }
}

/// Folding any run of appends and encoding once gives what single commits gave.
#[test]
fn a_group_commit_equals_single_commits() {
    let Some(folder) = golden() else { return };
    for catalog in catalogs(&folder) {
        for run in items(&catalog["steps"]).chunk_by(|_, next| text(&next["op"]) == "append") {
            for (first, start) in run.iter().enumerate() {
                let bytes = read(&folder.join(text(&start["head"]["file"])));
                let mut folded = Replay::new(&folder, &catalog, Lsn(0));
                folded.head = Head::decode(&bytes).unwrap();
                let mut expected = Vec::new();
                let mut complete = true;
                for step in &run[first + 1..] {
                    let count = number(&step["after_segments"]);
                    complete &= folded.head.segment_count + 1 == count;
                    folded.append_until(count);
                    folded.check_head(&step["head"]);
                    expected.extend(items(&step["pages_written_by_this_append"]).iter().map(text));
                }
                expected.sort_unstable();
                assert!(!complete || folded.written.keys().eq(&expected), "pages after {}", start["head"]["file"]);
            }
        }
    }
}

#[test]
fn retention_at_every_boundary_is_reproduced() {
    let Some(folder) = golden() else { return };
    let sweep = read_json(&folder.join("catalogs/sweep.json"));
    let mut base = Replay::new(&folder, &sweep, Lsn(number(&sweep["initial_next_lsn"])));
    base.takeover(&sweep["writer_id"]);
    base.append_until(number(&sweep["base_head"]["segment_count"]));
    base.check_head(&sweep["base_head"]);
    let untouched = base.head.clone();
    assert!(!items(&sweep["rows"]).is_empty());
    for row in items(&sweep["rows"]) {
        base.head = untouched.clone();
        let pages = base.trim(1, Lsn(number(&row["before_lsn"])));
        let written: Vec<_> = items(&row["pages_written"])
            .iter()
            .map(|page| if page.is_string() { page.clone() } else { page["key"].clone() })
            .collect();
        base.check_written(&pages, &Value::Array(written));
        let bytes = base.head.encode();
        assert_eq!(sha256(&bytes), text(&row["head_sha256"]), "{row}");
        assert_eq!(bytes.len() as u64, number(&row["head_size"]));
        assert_eq!(base.head.oldest_lsn.0, number(&row["oldest_lsn"]));
        assert_eq!(base.head.applied_retention_lsn.0, number(&row["applied_retention_lsn"]));
        assert_eq!(base.head.reachable_segment_count, number(&row["reachable_segment_count"]));
        assert_eq!(Head::decode(&bytes).as_ref(), Ok(&base.head));
    }
}

/// The published inputs of the corpus: `S(base, last, tmin, tmax, epoch, id)`.
fn corpus_segment(lsns: (u64, u64), timestamps: (i64, i64), epoch: u8, id: u8) -> SegmentEntry {
    SegmentEntry {
        base_lsn: Lsn(lsns.0),
        last_lsn: Lsn(lsns.1),
        min_timestamp: TimestampMs(timestamps.0),
        max_timestamp: TimestampMs(timestamps.1),
        record_count: u32::try_from(lsns.1 - lsns.0 + 1).unwrap(),
        block_count: 1,
        size_bytes: 4096 + lsns.0,
        block_index_offset: 2048,
        block_index_length: 128,
        codec: Codec::Zstd,
        hash: HashAlgo::Xxh64,
        segment_hash: 0x0102_0304_0506_0708 + lsns.0,
        trailer_hash: 0x1112_1314_1516_1718 + lsns.0,
        writer_epoch: Epoch(u64::from(epoch)),
        segment_id: SegmentId([id; 16]),
        writer_tag: WriterId([epoch; 16]),
    }
}

#[test]
fn corpus_objects_say_what_was_published() {
    let Some(folder) = golden() else { return };
    let folder = folder.join("corpus-catformat-v1");
    let object = |name: &str| read(&folder.join(name));
    for fixture in items(&read_json(&folder.join("manifest.json"))["fixtures"]) {
        let bytes = object(text(&fixture["file"]));
        assert_eq!(sha256(&bytes), text(&fixture["sha256"]));
        if text(&fixture["kind"]) == "head" {
            let head = Head::decode(&bytes).unwrap();
            assert_eq!(head.encode(), bytes);
            assert_eq!(head.identity, IDENTITY);
            assert_eq!(
                head.layout,
                CatalogLayout { hash: hash(&fixture["hash_algorithm"]), leaf_limit: 4, index_limit: 4 }
            );
        } else {
            let page = Page::decode(&bytes).unwrap();
            assert_eq!(page.reference.page_id.to_string(), text(&fixture["page_id"]));
            assert_eq!((page.partition, page.stream_key), (IDENTITY.partition, IDENTITY.stream_key));
        }
    }
    let (first, last) = (corpus_segment((0, 1), (100, 101), 7, 0x11), corpus_segment((2, 3), (101, 104), 8, 0x22));
    let empty = Head::decode(&object("empty-head-crc32c.plc")).unwrap();
    assert_eq!((empty.last_segment, empty.generation.0, empty.writer_epoch.0), (None, 0, 0));
    let populated = Head::decode(&object("populated-head-xxh64.plc")).unwrap();
    assert_eq!((populated.last_segment, &populated.active), (Some(last), &vec![last]));
    assert_eq!((populated.writer_id, populated.generation.0, populated.segment_count), (WRITER, 9, 2));
    assert_eq!(populated.sections[0][0].page_id.0, [0x31; 16]);
    let retained = Head::decode(&object("fully-retained-head-xxh64.plc")).unwrap();
    assert_eq!((retained.oldest_lsn, retained.reachable_segment_count, retained.last_segment), (Lsn(4), 0, Some(last)));
    let leaf = Page::decode(&object("leaf-page-xxh64.plc")).unwrap();
    assert_eq!(leaf.entries, PageEntries::Leaf(vec![first, last]));
    let index = Page::decode(&object("index-page-crc32c.plc")).unwrap();
    let PageEntries::Index(children) = index.entries else { panic!("an index page has references") };
    assert_eq!((children[0].seq_hi, children[1].seq_lo, children[1].segment_count), (Lsn(3), Lsn(4), 3));
}

/// The published walk of a 2x2 tree (formats 7): eight one-record segments, then three ways on.
#[test]
fn published_tree_walk() {
    let keys =
        LogKeys::with_prefixes("catalog-format", "data-root", &StreamId::new("tenant/events").unwrap(), Partition(7));
    let layout = CatalogLayout { hash: HashAlgo::Xxh64, leaf_limit: 2, index_limit: 2 };
    let mut head = Head::initial(*keys.identity(), layout, Lsn(0));
    check_published(&head, "c3ca5249dfa0a6f7433c33bcaef6a015ed8cce194e1375ea6d9fb4c4396abea8", 352);
    head = head.takeover(WriterId([0x91; 16])).unwrap();
    check_published(&head, "1404d4b7a41df6a7dd3e5e8af488077e41e9468e17a4ffc1a5ce6384cc9ac8fc", 352);
    let mut pages = Vec::new();
    let heads = [
        ("9a11ac88a7904704b7b0bf2f26bc3d8640f3645576bc16a2ab50428e2afa3f01", 480),
        ("73c7c457d48d000bf5cae38e2c1b95e7ae83d4d9fff86d24fd459e821678d3a9", 448),
        ("34e887790ed04a0ac26be1c98ebbdb3221959d40ca0827666e4589b74aef640f", 576),
        ("e34772dcb84d29dc566b348fa04a8626003af276c6a760b2829d78ac65d75d34", 464),
        ("e42af0322f314470b7854637d709b01440c35ee2e1e12599cce644d69d4dff48", 592),
        ("584ce77186252f5edd1574d81d01e77c753e9a5b9b6d4450a348b3b0da0849bd", 544),
        ("32c95608a00dd8ff226d42694850210479648ddd0179a27d0f11ce3843599a1a", 672),
        ("b6d1c835749fd62857423ede43d53bc4f65f4f40c36f2294a9b6d64206187bc0", 480),
    ];
    for (sha256, size) in heads {
        head.append(published_segment(&head), &mut pages).unwrap();
        check_published(&head, sha256, size);
    }
    check_page_ids(
        &pages,
        &[
            (0, 3, "54d5bb8f74251c95a9e4ebeee80d5e25"),
            (0, 5, "d00c8d824df215175f1a346e4edca7e1"),
            (1, 5, "7efbbb0d70e4425d00fd1abf3c0ad438"),
            (0, 7, "e20d9aba9215e88586451b8f418c02ff"),
            (0, 9, "ff946137325508c3b7b659c08e890d17"),
            (1, 9, "88056a9e0b5a72aa9e0e56626688a754"),
            (2, 9, "a364e06bd4a4fcc34de0fe84aafacc93"),
        ],
    );
    let mut store = Store::default();
    store.put(&pages);
    let Ok(Trim::Done { head: trimmed, pages }) = store.trim(&head, 1, Lsn(5)) else { panic!("trimmed") };
    check_published(&trimmed, "e428d8a5f26511d6ad0fa1d41f1285d56a74deb7e5be9d157340b76099bd8902", 480);
    check_page_ids(
        &pages,
        &[
            (0, 10, "2fc936d0f6f82cd7616579c205947a9d"),
            (1, 10, "b61c1339e397e5e7889f65411a9de59a"),
            (2, 10, "269f7b95b669a3a90ba20fccebe79921"),
        ],
    );
    assert_eq!(pages.iter().map(|page| page.bytes.len()).collect::<Vec<_>>(), [288, 320, 240]);
    let Ok(Trim::Done { head: mut retained, pages }) = store.trim(&head, 1, Lsn(100)) else { panic!("trimmed") };
    assert_eq!((pages, retained.applied_retention_lsn), (vec![], Lsn(8)));
    check_published(&retained, "e4eb06a5773ae56a4cb3fd1c060007b01aa10c5cf2d19d530798eb6337f9ae35", 352);
    retained.append(published_segment(&retained), &mut Vec::new()).unwrap();
    check_published(&retained, "343f16c0a74bfe9556f02deeca4f7204b02bde9cab0c4448de24dce9f6dd8c68", 480);
}

fn published_segment(head: &Head) -> SegmentEntry {
    let i = head.segment_count;
    let timestamp = TimestampMs(100 + i64::try_from(i).unwrap());
    SegmentEntry {
        min_timestamp: timestamp,
        max_timestamp: timestamp,
        segment_hash: 1000 + i,
        trailer_hash: 2000 + i,
        segment_id: SegmentId([u8::try_from(i).unwrap() + 1; 16]),
        ..next_segment(head, 1, 0, 0)
    }
}

#[track_caller]
fn check_published(head: &Head, expected: &str, size: usize) {
    let bytes = head.encode();
    assert_eq!((sha256(&bytes).as_str(), bytes.len()), (expected, size));
}

#[track_caller]
fn check_page_ids(pages: &[SealedPage], expected: &[(u8, u64, &str)]) {
    let found: Vec<_> = pages.iter().map(|SealedPage { reference: page, .. }| page).collect();
    let ids: Vec<_> = found.iter().map(|page| page.page_id.to_string()).collect();
    let found: Vec<_> = found.iter().zip(&ids).map(|(page, id)| (page.level, page.generation.0, id.as_str())).collect();
    assert_eq!(found, expected);
}
