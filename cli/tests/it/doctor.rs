//! `bucketlog doctor`.
use crate::run::{Finished, bucketlog, run};
use std::fs;
use std::path::Path;

fn doctor(store: &Path, args: &[&str]) -> Finished {
    run(bucketlog().args(["doctor", "--quick", "--store"]).arg(store).args(args))
}

/// Every file below a directory that is an object, not the store's own.
fn objects(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).expect("a directory").map(|entry| entry.expect("an entry")) {
            if entry.file_type().expect("a type").is_dir() {
                todo.push(entry.path());
            } else {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found.retain(|path| path.contains("scratch"));
    found
}

#[test]
fn a_local_directory_is_fit_and_left_without_scratch_objects() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = doctor(dir.path(), &["--scratch", "scratch"]).ok().text();
    assert!(text.contains("fit for: reading, writing, upkeep"), "{text}");
    assert!(text.contains("racing swaps"), "{text}");
    assert_eq!(objects(dir.path()), Vec::<String>::new());
}

#[test]
fn json_has_a_finding_for_each_capability() {
    let dir = tempfile::tempdir().expect("a directory");
    let report = doctor(dir.path(), &["--json"]).ok().json();
    assert_eq!(report["fit_for"], serde_json::json!(["reading", "writing", "upkeep"]));
    let findings = report["findings"].as_array().expect("findings");
    let is_fine = |finding: &serde_json::Value| finding["verdict"] == "holds" || finding["verdict"] == "unsupported";
    assert!(findings.iter().all(is_fine), "{report}");
    assert!(findings.iter().any(|finding| finding["capability"] == "compare and swap"), "{report}");
}

#[test]
fn a_store_that_takes_no_writes_fails_the_command() {
    let dir = tempfile::tempdir().expect("a directory");
    // A file where the scratch objects' folder would be: no permission stops the superuser.
    fs::write(dir.path().join("blocked"), "").expect("a file");
    let finished = doctor(dir.path(), &["--scratch", "blocked", "--json"]);
    assert_eq!(finished.code, 1, "{}", finished.text());
    assert!(finished.text().contains("\"unfit_store\""), "{}", finished.text());
}
