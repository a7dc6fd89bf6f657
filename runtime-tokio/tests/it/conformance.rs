//! One suite, every store: the blocking driver's, through tokio.
use crate::s3::{options, scripted};
use crate::world::multi_thread;
use bucketlog_blocking::store::conformance::{Races, Report, check, check_racing};
use bucketlog_fixtures::servers::seaweedfs;
use bucketlog_tokio::store::s3::S3;
use bucketlog_tokio::store::{Blocked, Blocking, LocalDir, Memory, Store};

fn report(store: impl Store) -> Report {
    let runtime = multi_thread();
    check(&Blocked { store, runtime: runtime.handle().clone() }, "some/prefix")
}

#[test]
fn i11_memory_conforms() {
    let report = report(Memory::new());
    assert!(report.passed(), "{report}");
}

#[test]
fn i11_a_local_directory_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let report = report(Blocking::new(LocalDir::open(directory.path()).unwrap()));
    assert!(report.passed(), "{report}");
}

#[test]
fn i11_a_scripted_server_conforms_through_reqwest() {
    let (_server, store) = scripted();
    let report = report(store);
    assert!(report.passed(), "{report}");
}

/// It fails where it fails through ureq.
#[test]
fn s3_seaweedfs_conforms_through_reqwest_but_for_pages_of_listings_and_old_tags_of_parts() {
    let Some(server) = seaweedfs() else { return };
    let runtime = multi_thread();
    let store = S3::open(options(&server.endpoint())).unwrap();
    let store = Blocked { store, runtime: runtime.handle().clone() };
    let report = check_racing(&store, "conformance/seaweedfs", Races { racers: 4, rounds: 2 });
    let others: Vec<_> = report.failures().map(|(name, _)| name).collect();
    let known = |name: &str| name == "upload-with-replaced-tag-is-refused" || name.starts_with("list-");
    assert!(others.iter().all(|name| known(name)), "{report}");
    assert!(report.checks.iter().all(|check| !check.skipped), "{report}");
}
