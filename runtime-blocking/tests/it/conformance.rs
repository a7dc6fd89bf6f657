//! The stores of this crate pass the suite (I11), and every check of the suite catches a store that is wrong.
use crate::{flawed, flawed_uploads, soon};
use bucketlog_blocking::store::conformance::{Report, check};
use bucketlog_blocking::store::{Counted, LocalDir, LocalDirOptions, Memory, Store, SyncPolicy};
use bucketlog_core::boundary::{Key, ListUploads};
use std::collections::BTreeSet;
use std::fmt::Debug;

fn assert_passed(report: &Report) {
    assert!(report.passed(), "{report}");
}

#[test]
fn memory_conforms() {
    assert_passed(&check(&Memory::new(), "some/prefix"));
}

#[test]
fn a_local_directory_conforms() {
    let dir = tempfile::tempdir().unwrap();
    assert_passed(&check(&LocalDir::open(dir.path()).unwrap(), "some/prefix"));
}

#[test]
fn a_local_directory_without_flushes_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalDir::open_with(dir.path(), LocalDirOptions { sync: SyncPolicy::None }).unwrap();
    assert_passed(&check(&store, "some/prefix"));
}

#[test]
fn counting_changes_no_answer() {
    assert_passed(&check(&Counted::new(Memory::new()), "some/prefix"));
}

#[test]
fn a_store_without_uploads_skips_their_checks_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalDir::open_with(dir.path(), LocalDirOptions { sync: SyncPolicy::None }).unwrap();
    let report = check(&store, "some/prefix");
    let is_about_uploads = |name: &str| name.starts_with("upload-") || name.starts_with("list-uploads-");
    assert!(report.checks.iter().all(|check| check.skipped == is_about_uploads(check.name)), "{report}");
    assert!(report.to_string().contains("skipped: the store takes whole objects only"), "{report}");
    let report = check(&Memory::new(), "some/prefix");
    assert!(report.checks.iter().all(|check| !check.skipped), "{report}");
}

#[test]
fn the_suite_leaves_no_uploads_behind() {
    let store = Memory::new();
    assert_passed(&check(&store, "some/prefix"));
    let left = store.list_uploads(&ListUploads { prefix: Key::from(""), after: None, limit: 1 }, soon()).unwrap();
    assert_eq!(left.uploads, []);
}

#[track_caller]
fn assert_caught(report: &Report, flaw: impl Debug, name: &str) {
    assert!(report.failures().any(|(failed, _)| failed == name), "{flaw:?} passes {name}:\n{report}");
}

#[test]
fn every_flaw_is_caught_by_name() {
    for &(flaw, name) in flawed::FLAWS {
        assert_caught(&check(&flawed::Flawed::new(flaw), "some/prefix"), flaw, name);
    }
    for &(flaw, name) in flawed_uploads::FLAWS {
        assert_caught(&check(&flawed_uploads::Flawed::new(flaw), "some/prefix"), flaw, name);
    }
}

#[test]
fn every_check_catches_some_flaw() {
    let all: BTreeSet<_> = check(&Memory::new(), "some/prefix").checks.iter().map(|check| check.name).collect();
    let of_objects = flawed::FLAWS.iter().map(|&(_, name)| name);
    let of_uploads = flawed_uploads::FLAWS.iter().map(|&(_, name)| name);
    assert_eq!(of_objects.chain(of_uploads).collect::<BTreeSet<_>>(), all);
}
