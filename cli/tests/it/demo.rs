//! The demo plays every phase on a fresh directory.
use crate::run::{bucketlog, run};

#[test]
fn the_demo_writes_reads_takes_over_and_shows_what_is_stored() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let shown = run(bucketlog().arg("demo").arg(folder.path().join("new"))).ok().text();
    let parts = [
        "it owns epoch 1",
        "Durable below LSN 1000",
        "one more record, LSN 1000",
        "LSN  500",
        "2026-01-01T08:01:00.250Z",
        "LSN   42",
        "LSN 1000000 is not written yet",
        "claims the log: epoch 2",
        "took the log over at epoch 2",
        "head.plc",
        "segment, not in the log",
        ".plseg",
    ];
    let mut rest = shown.as_str();
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not in {rest}"));
        rest = &rest[at..];
    }
    let read =
        run(bucketlog().args(["read", "--stream", "demo/orders", "--store"]).arg(folder.path().join("new"))).ok();
    assert_eq!(read.text().lines().count(), 1_002);
}

#[test]
fn the_demo_leaves_a_directory_with_something_in_it_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(folder.path().join("mine"), "precious").expect("a file");
    let refused = run(bucketlog().arg("demo").arg(folder.path()));
    assert_eq!((refused.code, refused.stdout.len()), (1, 0), "{refused:?}");
    assert!(refused.stderr.contains("is not empty"), "{refused:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
