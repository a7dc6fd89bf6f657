//! `bucketlog scrub`.
use crate::run::{Finished, bucketlog, run};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn scrub(store: &Path, args: &[&str]) -> Finished {
    run(bucketlog().args(["scrub", "--stream", "orders", "--store"]).arg(store).args(args))
}

/// A log whose first owner left a segment that no head leads to.
fn log(store: &Path) -> PathBuf {
    for line in ["one\n", "two\n"] {
        let file = store.with_file_name("input.txt");
        fs::write(&file, line).expect("a file");
        run(bucketlog().args(["append", "--stream", "orders", "--store"]).arg(store).arg(&file)).ok();
    }
    let of_first = |path: &PathBuf| path.display().to_string().contains("-e00000000000000000001-");
    let segment = segments(store).into_iter().find(of_first).expect("the first owner's segment");
    let name = segment.file_name().and_then(|name| name.to_str()).expect("a name");
    let left = segment.with_file_name(name.replace("seg-00000000000000000000", "seg-00000000000000000001"));
    fs::copy(&segment, &left).expect("a copy");
    left
}

fn segments(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(segments(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "plseg") {
            found.push(entry);
        }
    }
    found
}

#[test]
fn an_orphan_is_told_and_deleted_only_when_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = dir.path().join("store");
    let left = log(&store);
    let text = scrub(&store, &[]).ok().text();
    assert!(text.contains("3 examined, 0 orphans") && text.contains("1 younger than the grace"), "{text}");
    let text = scrub(&store, &["--grace", "0s"]).ok().text();
    assert!(text.contains("1 orphans") && text.contains("--delete"), "{text}");
    assert!(left.exists());
    let text = scrub(&store, &["--grace", "0s", "--delete"]).ok().text();
    assert!(text.contains("1 deleted") && !left.exists(), "{text}");
    let read = run(bucketlog().args(["read", "--stream", "orders", "--store"]).arg(&store)).ok();
    assert_eq!(read.text(), "one\ntwo\n");
}

#[test]
fn json_has_a_line_for_each_orphan_and_a_summary() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = dir.path().join("store");
    log(&store);
    let text = scrub(&store, &["--grace", "0s", "--json"]).ok().text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), &lines[0]["orphan"], &lines[0]["epoch"]), (2, &json!("segment"), &json!("1")));
    assert_eq!((&lines[1]["orphans"], &lines[1]["deleted"]), (&json!("1"), &json!("0")));
}

#[test]
fn a_log_that_is_not_there_is_an_error_that_says_what_to_do() {
    let dir = tempfile::tempdir().expect("a directory");
    let finished = scrub(dir.path(), &["--json"]);
    assert_eq!(finished.code, 1, "{}", finished.text());
    assert!(finished.text().contains("no_head"), "{}", finished.text());
}
