//! `inspect` against every golden object, field by field.
use crate::golden::{load, objlog, rows, text};
use crate::run::{Finished, bucketlog, run, run_with_input};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const CATALOGS: [&str; 3] = ["default128-xxh64", "fan1x2-crc32c", "fan2x2-xxh64"];

fn inspect(file: &Path) -> Command {
    let mut command = bucketlog();
    command.args(["inspect", "--json"]).arg(file);
    command
}

/// Every field of `expected`, however deep, has the same value in `found`, which may have more fields.
#[track_caller]
fn check_fields(name: &str, expected: &Value, found: &Value) {
    match expected {
        Value::Object(fields) => fields.iter().for_each(|(field, value)| {
            check_fields(&format!("{name}.{field}"), value, &found[field]);
        }),
        Value::Array(items) => {
            assert_eq!(Some(items.len()), found.as_array().map(Vec::len), "{name}: {found}");
            items.iter().zip(rows(found)).for_each(|(expected, found)| check_fields(name, expected, found));
        }
        _ => assert_eq!(expected, found, "{name}"),
    }
}

/// `value` without these fields.
fn without(value: &Value, fields: &[&str]) -> Value {
    let mut value = value.clone();
    for field in fields {
        value.as_object_mut().expect("an object").remove(*field);
    }
    value
}

#[test]
fn every_golden_segment_shows_the_listed_trailer_blocks_and_records() {
    let Some(folder) = objlog() else { return };
    for vector in rows(&load(&folder, "segments.json")["vectors"]) {
        let name = text(&vector["name"]);
        let file = folder.join(text(&vector["file"]));
        let report = run(inspect(&file).arg("--records")).ok().json();
        assert_eq!(report["kind"], "segment", "{name}");
        for field in ["trailer", "blocks", "records_dump_sha256", "size", "sha256"] {
            assert_eq!(report[field], vector[field], "{name}: {field}");
        }
        assert_eq!(report["options"], without(&vector["options"], &["target_block_size"]), "{name}");
        let count = vector["trailer"]["record_count"].as_u64();
        assert_eq!(count, Some(rows(&report["records"]).len() as u64), "{name}");
        if !vector["records"].is_null() {
            assert_eq!(report["records"], vector["records"], "{name}");
        }
        assert!(run(&mut inspect(&file)).ok().json()["records"].is_null(), "{name}: records only when asked for");
    }
}

/// Options that name the catalog's stream and prefixes, so that keys are whole.
fn naming(catalog: &Value) -> Vec<String> {
    ["stream_id", "catalog_prefix", "data_root"]
        .iter()
        .zip(["--stream", "--catalog-prefix", "--data-root"])
        .flat_map(|(field, option)| [option.to_owned(), text(&catalog[field]).to_owned()])
        .collect()
}

/// An entry against the catalog's list of segments, which the largest catalog goes without.
fn check_segment(file: &str, catalog: &Value, entry: &Value) {
    if !catalog["segments"].is_null() {
        let row = rows(&catalog["segments"]).iter().find(|row| row["base_lsn"] == entry["base_lsn"]);
        let row = row.unwrap_or_else(|| panic!("{file} has {entry}"));
        assert_eq!(*entry, without(row, &["i"]), "{file}");
    }
}

#[test]
fn every_golden_head_shows_the_listed_fields_and_its_entries_in_full() {
    let Some(folder) = objlog() else { return };
    for name in CATALOGS {
        let catalog = load(&folder, &format!("catalogs/{name}.json"));
        for step in rows(&catalog["steps"]) {
            let expected = &step["head"];
            let file = text(&expected["file"]);
            let report = run(inspect(&folder.join(file)).args(naming(&catalog))).ok().json();
            assert_eq!(report["kind"], "head", "{file}");
            check_fields(file, &without(expected, &["file"]), &report);
            for field in ["hash", "leaf_limit", "index_limit", "partition", "stream_key", "data_root_key"] {
                assert_eq!(report[field], catalog[field], "{file}: {field}");
            }
            check_entries(file, &catalog, &report);
        }
    }
}

/// Active entries and the last segment against the catalog's list, where it still has them.
fn check_entries(file: &str, catalog: &Value, report: &Value) {
    let ranges: Vec<String> = rows(&report["active"])
        .iter()
        .map(|entry| format!("{}-{}", text(&entry["base_lsn"]), text(&entry["last_lsn"])))
        .collect();
    assert_eq!(Value::from(ranges), report["active_ranges"], "{file}");
    for entry in rows(&report["active"]).iter().chain(report.get("last_segment")) {
        check_segment(file, catalog, entry);
    }
}

#[test]
fn every_golden_page_shows_its_header_and_entries() {
    let Some(folder) = objlog() else { return };
    for name in CATALOGS {
        let catalog = load(&folder, &format!("catalogs/{name}.json"));
        for page in rows(&catalog["pages"]) {
            let file = text(&page["file"]);
            let report = run(inspect(&folder.join(file)).args(naming(&catalog))).ok().json();
            check_fields(file, &without(page, &["file", "written_by"]), &report);
            for field in ["hash", "partition", "stream_key"] {
                assert_eq!(report[field], catalog[field], "{file}: {field}");
            }
            let entries = rows(&report["entries"]);
            assert_eq!(report["entry_count"], entries.len(), "{file}");
            if page["level"] == 0 {
                assert_eq!(report["kind"], "leaf_page", "{file}");
                for entry in entries {
                    check_segment(file, &catalog, entry);
                }
            } else {
                assert_eq!(report["kind"], "index_page", "{file}");
                for entry in entries {
                    check_child(file, &catalog, entry);
                }
            }
        }
    }
}

/// A reference against the listed page of that key.
fn check_child(file: &str, catalog: &Value, entry: &Value) {
    let child = rows(&catalog["pages"]).iter().find(|page| page["key"] == entry["key"]);
    let child = child.unwrap_or_else(|| panic!("{file} refers to {entry}"));
    check_fields(file, &without(child, &["file", "written_by", "sha256", "size"]), entry);
}

#[test]
fn the_published_catalog_fixtures_and_the_sweep_open() {
    let Some(folder) = objlog() else { return };
    let corpus = folder.join("corpus-catformat-v1");
    for fixture in rows(&load(&corpus, "manifest.json")["fixtures"]) {
        let report = run(&mut inspect(&corpus.join(text(&fixture["file"])))).ok().json();
        for (field, listed) in [("kind", "kind"), ("size", "size"), ("sha256", "sha256"), ("hash", "hash_algorithm")] {
            assert_eq!(report[field], fixture[listed], "{fixture}");
        }
        assert_eq!(report["page_id"], fixture["page_id"], "{fixture}");
    }
    let sweep = load(&folder, "catalogs/sweep.json");
    let base = &sweep["base_head"];
    let report = run(&mut inspect(&folder.join(text(&base["file"])))).ok().json();
    let keyless = ["file", "last_segment", "sections"];
    check_fields("sweep", &without(base, &keyless), &report);
}

#[test]
fn keys_start_inside_the_partition_unless_the_stream_is_named() {
    let Some(folder) = objlog() else { return };
    let catalog = load(&folder, "catalogs/fan2x2-xxh64.json");
    let expected = &rows(&catalog["steps"])[20]["head"];
    let report = run(&mut inspect(&folder.join(text(&expected["file"])))).ok().json();
    let (whole, found) = (text(&expected["last_segment"]["uri"]), text(&report["last_segment"]["uri"]));
    assert!(found.starts_with("seg-") && whole.ends_with(found), "{found}");
    let (whole, found) = (&expected["sections"][0]["entries"][0]["key"], &report["sections"][0]["entries"][0]["key"]);
    assert!(text(found).starts_with("pages/l00/") && text(whole).ends_with(text(found)), "{found}");
}

#[test]
fn every_damaged_golden_object_gets_the_listed_verdict() {
    let Some(folder) = objlog() else { return };
    for case in rows(&load(&folder, "bad.json")) {
        let verdict = ["reader_error_with_segment_hash", "reader_error", "parser_error"]
            .iter()
            .find_map(|field| case[field].as_str());
        let found = run(&mut inspect(&folder.join(text(&case["file"]))));
        if verdict == Some("") {
            found.ok();
            continue;
        }
        assert_eq!(found.code, 3, "{case}: {found:?}");
        check_damage(case, &found);
    }
}

/// A typed reason that lies in the kind of object that was damaged.
fn check_damage(case: &Value, found: &Finished) {
    const SEGMENT: &[&str] = &["file_preamble", "block_preamble", "block", "record", "block_index", "segment_trailer"];
    const HEAD: &[&str] = &["head_header", "last_segment", "active_entries", "head_section", "catalog_trailer"];
    const PAGE: &[&str] = &["page_header", "page_entries", "catalog_trailer"];
    let report = found.json();
    let error = &report["error"];
    let sections = match text(&case["kind"]) {
        "segment" => SEGMENT,
        "head" => HEAD,
        _ => PAGE,
    };
    assert!(sections.contains(&text(&error["section"])), "{case}: {error}");
    assert!(error["offset"].is_u64() && !text(&error["kind"]).is_empty(), "{case}: {error}");
    assert!(!text(&error["detail"]).is_empty(), "{case}: {error}");
}

#[test]
fn damage_is_told_to_people_on_stderr_with_what_to_do() {
    let Some(folder) = objlog() else { return };
    let found = run(bucketlog().arg("inspect").arg(folder.join("bad/head-flags.plc")));
    assert_eq!((found.code, found.stdout.len()), (3, 0), "{found:?}");
    assert!(found.stderr.starts_with("error: ") && found.stderr.contains("is damaged: integrity"), "{found:?}");
    assert!(found.stderr.contains("\n help: fetch the object again"), "{found:?}");
}

#[test]
fn people_get_tables_of_every_kind_of_object() {
    let Some(folder) = objlog() else { return };
    let show = |file: &str| run(bucketlog().args(["inspect", "--records"]).arg(folder.join(file))).ok().text();
    let segment = show("segments/one-none-xxh64.plseg");
    for part in ["a segment of 469 B", "662cb70f95fbe65b", "2026-04-15T14:23:20.000Z", "hello"] {
        assert!(segment.contains(part), "{part} in {segment}");
    }
    let head = show("catalogs/fan2x2-xxh64/head-00019.plc");
    for part in ["a head of 704 B", "LSN 0 to 55", "Active segments", "Section 1, pages of level 0"] {
        assert!(head.contains(part), "{part} in {head}");
    }
    assert!(show("corpus-catformat-v1/leaf-page-xxh64.plc").contains("a leaf page of 416 B"));
    assert!(show("corpus-catformat-v1/index-page-crc32c.plc").contains("an index page of 320 B"));
}

#[test]
fn an_object_can_come_through_a_pipe() {
    let Some(folder) = objlog() else { return };
    let object = std::fs::read(folder.join("segments/one-zstd-crc32c.plseg")).expect("a golden segment");
    for source in ["-", "--stdin"] {
        let report = run_with_input(bucketlog().args(["inspect", "--json", source]), &object).ok().json();
        assert_eq!(report["trailer"]["segment_hash"], "0000000046d8387a", "{source}");
    }
}

#[test]
fn bytes_of_no_format_and_missing_files_are_told_apart() {
    for bytes in [&b""[..], b"PL", b"fn main() {}\n"] {
        let found = run_with_input(bucketlog().args(["inspect", "--json", "-"]), bytes);
        assert_eq!(found.code, 3, "{bytes:?}: {found:?}");
        assert_eq!(found.json()["error"]["kind"], "unrecognized", "{bytes:?}");
    }
    let found = run(bucketlog().args(["inspect", "--json", "no/such/file"]));
    assert_eq!(found.code, 1, "{found:?}");
    assert_eq!(found.json()["error"]["kind"], "input", "{found:?}");
}
