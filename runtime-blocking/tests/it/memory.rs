//! What only the in-memory store does.
use crate::soon;
use bucketlog_blocking::store::{Memory, Store};
use bucketlog_core::boundary::{
    ByteRange, Create, Delete, Get, GetReply, Key, RefusalKind, Stat, Swap, SwapCondition, SwapReply,
};
use bytes::Bytes;

fn read(store: &Memory, key: &str) -> Bytes {
    match store.get(&Get::new(Key::from(key), ByteRange::All, 1_000), soon()).unwrap() {
        GetReply::Found { body, .. } => body,
        GetReply::NotModified => unreachable!("the read has no condition"),
    }
}

fn swap(store: &Memory, body: &Bytes, condition: SwapCondition) -> SwapReply {
    store.swap(&Swap { key: Key::from("a"), body: body.clone(), condition }, soon()).unwrap()
}

#[test]
fn bodies_are_kept_without_a_copy() {
    let store = Memory::new();
    let body = Bytes::from(vec![7; 100]);
    store.create(&Create { key: Key::from("created"), body: vec![body.clone()] }, soon()).unwrap();
    swap(&store, &body, SwapCondition::Absent);
    assert_eq!(read(&store, "created").as_ptr(), body.as_ptr());
    assert_eq!(read(&store, "a").as_ptr(), body.as_ptr());
}

#[test]
fn a_version_never_comes_back_even_if_the_same_bytes_do() {
    let store = Memory::new();
    let body = Bytes::from("content");
    let first = swap(&store, &body, SwapCondition::Absent).version.unwrap();
    let second = swap(&store, &body, SwapCondition::Matches(first.clone())).version.unwrap();
    store.delete(&Delete { key: Key::from("a") }, soon()).unwrap();
    let third = swap(&store, &body, SwapCondition::Absent).version.unwrap();
    assert!(first != second && second != third && first != third);
}

#[test]
fn discarded_bodies_leave_their_size_and_other_bodies_stay() {
    let store = Memory::discarding(|key| key.as_str() == "kept");
    for key in ["kept", "discarded"] {
        let body = vec![Bytes::from("abc"), Bytes::from("de")];
        store.create(&Create { key: Key::from(key), body }, soon()).unwrap();
        assert_eq!(store.stat(&Stat { key: Key::from(key) }, soon()).unwrap().meta.size, 5);
    }
    assert_eq!(read(&store, "kept"), "abcde");
    let fault = store.get(&Get::new(Key::from("discarded"), ByteRange::All, 9), soon()).unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Unsupported));
}
