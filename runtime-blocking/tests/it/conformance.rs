//! The stores of this crate pass the suite (I11), and every check of the suite catches a store that is wrong.
use crate::flawed::{FLAWS, Flawed};
use bucketlog_blocking::store::conformance::{Report, check};
use bucketlog_blocking::store::{Counted, LocalDir, LocalDirOptions, Memory, SyncPolicy};
use std::collections::BTreeSet;

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
fn every_flaw_is_caught_by_name() {
    for &(flaw, name) in FLAWS {
        let report = check(&Flawed::new(flaw), "some/prefix");
        assert!(report.failures().any(|(failed, _)| failed == name), "{flaw:?} passes {name}:\n{report}");
    }
}

#[test]
fn every_check_catches_some_flaw() {
    let all: BTreeSet<_> = check(&Memory::new(), "some/prefix").checks.iter().map(|check| check.name).collect();
    let caught: BTreeSet<_> = FLAWS.iter().map(|&(_, name)| name).collect();
    assert_eq!(caught, all);
}
