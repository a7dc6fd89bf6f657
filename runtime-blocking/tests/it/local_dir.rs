//! What only the directory store does.
use crate::soon;
use bucketlog_blocking::store::{LocalDir, Store};
use bucketlog_core::boundary::{
    ByteRange, Create, Delete, Fault, Get, GetReply, Key, List, RefusalKind, Stat, Swap, SwapCondition, Version,
};
use bytes::Bytes;
use std::fs;
use tempfile::TempDir;

fn open() -> (TempDir, LocalDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalDir::open(dir.path()).unwrap();
    (dir, store)
}

fn create(store: &LocalDir, key: &str, body: &[u8]) -> Result<(), Fault> {
    let body = vec![Bytes::copy_from_slice(body)];
    store.create(&Create { key: Key::from(key), body }, soon()).map(drop)
}

fn swap(store: &LocalDir, key: &str, body: Bytes, condition: SwapCondition) -> Result<Option<Version>, Fault> {
    Ok(store.swap(&Swap { key: Key::from(key), body, condition }, soon())?.version)
}

fn version(store: &LocalDir, get: &Get) -> Option<Version> {
    match store.get(get, soon()).unwrap() {
        GetReply::Found { version, .. } => version,
        GetReply::NotModified => unreachable!("no read here knows the current state"),
    }
}

fn listed(store: &LocalDir) -> Vec<String> {
    let page = store.list(&List { prefix: Key::from(""), after: None, limit: 1_000 }, soon()).unwrap();
    page.objects.iter().map(|row| row.key.to_string()).collect()
}

fn kind<T: std::fmt::Debug>(result: Result<T, Fault>) -> Option<RefusalKind> {
    result.unwrap_err().refusal().cloned()
}

#[test]
fn what_lies_on_disk_is_the_key_layout() {
    let (dir, store) = open();
    create(&store, "objlog/logs/head", b"content").unwrap();
    assert_eq!(fs::read(dir.path().join("objlog/logs/head")).unwrap(), b"content");
    assert_eq!(listed(&store), ["objlog/logs/head"]);
}

#[test]
fn keys_outside_the_key_space_are_invalid_for_every_request() {
    let (dir, store) = open();
    let keys = [
        "",
        "/",
        "/etc/passwd",
        "a//b",
        "a/",
        "./a",
        "a/.",
        "..",
        "../outside",
        "a/../b",
        "a/..",
        "nul\0",
        ".bucketlog",
        ".bucketlog/lock",
        ".BucketLog/tmp/x",
    ];
    for text in keys {
        let key = || Key::from(text);
        let invalid = Some(RefusalKind::Invalid);
        assert_eq!(kind(create(&store, text, b"x")), invalid, "create {text:?}");
        assert_eq!(kind(swap(&store, text, Bytes::new(), SwapCondition::Absent)), invalid, "swap {text:?}");
        assert_eq!(kind(store.get(&Get::new(key(), ByteRange::All, 9), soon())), invalid, "get {text:?}");
        assert_eq!(kind(store.stat(&Stat { key: key() }, soon())), invalid, "stat {text:?}");
        assert_eq!(kind(store.delete(&Delete { key: key() }, soon())), invalid, "delete {text:?}");
    }
    for prefix in ["/", "../", "a/../", "a//", ".bucketlog/", "nul\0"] {
        let list = List { prefix: Key::from(prefix), after: None, limit: 9 };
        assert_eq!(kind(store.list(&list, soon())), Some(RefusalKind::Invalid), "list {prefix:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was made for a bad key");
}

#[test]
fn what_the_file_system_cannot_hold_is_invalid_and_leaves_nothing() {
    let (dir, store) = open();
    assert_eq!(kind(create(&store, &"n".repeat(256), b"x")), Some(RefusalKind::Invalid));
    create(&store, "a", b"file").unwrap();
    assert_eq!(kind(create(&store, "a/b", b"x")), Some(RefusalKind::Invalid));
    create(&store, "d/e", b"x").unwrap();
    assert_eq!(fs::read_dir(dir.path().join(".bucketlog/tmp")).unwrap().count(), 0);
    assert_eq!(listed(&store), ["a", "d/e"]);
}

#[test]
fn whole_reads_tell_a_version_up_to_the_limit_and_conditional_reads_always() {
    let (_dir, store) = open();
    let limit = usize::try_from(LocalDir::MAX_VERSIONED).unwrap();
    create(&store, "small", &vec![1; limit]).unwrap();
    create(&store, "large", &vec![1; limit + 1]).unwrap();
    let get = |key: &str, range| Get::new(Key::from(key), range, 1 << 30);
    assert!(version(&store, &get("small", ByteRange::All)).is_some());
    assert_eq!(version(&store, &get("small", ByteRange::FromTo(0, 5))), None);
    assert_eq!(version(&store, &get("large", ByteRange::All)), None);

    let mut conditional = get("large", ByteRange::FromTo(0, 5));
    conditional.if_none_match = Some(Version::from("another"));
    let current = version(&store, &conditional).unwrap();
    conditional.if_none_match = Some(current);
    assert_eq!(store.get(&conditional, soon()).unwrap(), GetReply::NotModified);
}

#[test]
fn a_swap_above_the_limit_is_invalid() {
    let (_dir, store) = open();
    let body = Bytes::from(vec![0; usize::try_from(LocalDir::MAX_VERSIONED).unwrap() + 1]);
    assert_eq!(kind(swap(&store, "a", body, SwapCondition::Absent)), Some(RefusalKind::Invalid));
    assert_eq!(listed(&store).len(), 0);
}

#[test]
fn two_stores_on_one_directory_share_objects_and_exclude_each_other() {
    let (dir, one) = open();
    let other = LocalDir::open(dir.path()).unwrap();
    swap(&one, "counter", Bytes::from("0"), SwapCondition::Absent).unwrap();
    let add = |store: &LocalDir| {
        let mut added = 0;
        while added < 50 {
            let get = Get::new(Key::from("counter"), ByteRange::All, 9);
            let GetReply::Found { body, version, .. } = store.get(&get, soon()).unwrap() else { continue };
            let next = (std::str::from_utf8(&body).unwrap().parse::<u32>().unwrap() + 1).to_string();
            let swapped = swap(store, "counter", Bytes::from(next), SwapCondition::Matches(version.unwrap()));
            added += u32::from(swapped.is_ok());
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| add(&one));
        scope.spawn(|| add(&other));
    });
    assert_eq!(fs::read_to_string(dir.path().join("counter")).unwrap(), "100");
}

#[test]
fn an_open_removes_no_object_and_a_later_store_reads_everything() {
    let (dir, store) = open();
    create(&store, "a", b"content").unwrap();
    drop(store);
    let store = LocalDir::open(dir.path()).unwrap();
    assert_eq!(listed(&store), ["a"]);
    assert_eq!(kind(create(&store, "a", b"other")), Some(RefusalKind::Precondition));
}

#[test]
fn opening_for_reading_leaves_no_trace() {
    let (dir, store) = open();
    assert_eq!(listed(&store).len(), 0);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
