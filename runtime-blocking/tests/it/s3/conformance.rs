//! One suite, every S3 store.
use super::{options, scripted, scripted_with};
use bucketlog_blocking::store::conformance::{Races, Report, check, check_racing};
use bucketlog_blocking::store::s3::{Dialect, S3, S3Options};
use bucketlog_fixtures::servers::{Conditions, Seen, seaweedfs};

#[track_caller]
fn assert_passed(report: &Report) {
    assert!(report.passed(), "{report}");
}

#[test]
fn a_scripted_server_conforms() {
    let (_server, store) = scripted();
    assert_passed(&check(&store, "some/prefix"));
}

#[test]
fn a_prefix_changes_nothing() {
    let (server, store) =
        scripted_with(Conditions::Atomic, |options| S3Options { prefix: "a b/".to_owned(), ..options });
    assert_passed(&check(&store, "some/prefix"));
    // Keys to delete at once stand in the body.
    let is_below = |target: &str| target.contains("a%20b") || target.contains("&delete=1");
    assert!(server.seen().iter().all(|seen| is_below(&seen.target)), "every request is below the prefix");
}

#[test]
fn c09_checksums_change_nothing_where_the_store_takes_them() {
    let (server, store) = scripted_with(Conditions::Atomic, |options| S3Options { checksums: true, ..options });
    assert_passed(&check(&store, "some/prefix"));
    let is_sent = |seen: &Seen| seen.method != "PUT" || seen.header("x-amz-checksum-crc32c").is_some();
    assert!(server.seen().iter().all(is_sent), "with every body");
}

#[test]
fn c01_a_store_that_wants_bare_tags_conforms_in_its_dialect() {
    let (_server, store) =
        scripted_with(Conditions::Unquoted, |options| S3Options { dialect: Some(Dialect::CephRgw), ..options });
    assert_passed(&check(&store, "some/prefix"));
}

/// It sorts by folders, not by bytes: `b/1` before `b-c`; it takes the tag of a part that was replaced; a page with a
/// limit lacks uploads and does not say so. Nothing that a log does rests on any of these.
#[test]
fn seaweedfs_conforms_but_for_pages_of_listings_and_old_tags_of_parts() {
    let Some(server) = seaweedfs() else { return };
    let store = S3::open(options(&server.endpoint())).unwrap();
    // A writer that loses there waits a second before it is told.
    let report = check_racing(&store, "conformance/seaweedfs", Races { racers: 4, rounds: 2 });
    let (listings, others): (Vec<_>, Vec<_>) =
        report.failures().partition(|(name, _)| name.starts_with("list-") && *name != "list-uploads-pages");
    let others: Vec<_> = others.iter().map(|(name, _)| *name).collect();
    assert_eq!(others, ["upload-with-replaced-tag-is-refused", "list-uploads-pages"], "{report}");
    assert!(listings.iter().all(|(_, why)| why.contains("does not list keys in order")), "{report}");
    assert!(report.checks.iter().all(|check| !check.skipped), "{report}");
}

#[test]
fn b09_a_store_that_ignores_conditions_fails_by_name() {
    let (_server, store) = scripted_with(Conditions::Ignored, |options| options);
    let report = check(&store, "some/prefix");
    for check in ["create-twice-is-refused", "swap-with-stale-version-is-refused", "racing-creates-have-one-winner"] {
        assert!(report.failures().any(|(failed, _)| failed == check), "{check} passes:\n{report}");
    }
}

#[test]
fn b10_a_store_that_races_fails_where_writes_race_and_only_there() {
    let (_server, store) = scripted_with(Conditions::Racy, |options| options);
    let report = check(&store, "some/prefix");
    let failed: Vec<_> = report.failures().map(|(name, _)| name).collect();
    assert!(failed.contains(&"racing-creates-have-one-winner"), "{report}");
    assert!(failed.iter().all(|name| name.contains("rac")), "{report}");
}
