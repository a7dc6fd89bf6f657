//! What only the in-memory store does.
use crate::soon;
use bucketlog_blocking::store::{Memory, Store};
use bucketlog_core::boundary::{
    ByteRange, CompleteUpload, Create, CreateUpload, Delete, Get, GetReply, Key, RefusalKind, Stat, Swap,
    SwapCondition, SwapReply, UploadPart,
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

fn upload(store: &Memory, key: &str, parts: &[&'static str]) -> CompleteUpload {
    let key = Key::from(key);
    let upload = store.create_upload(&CreateUpload { key: key.clone() }, soon()).unwrap().upload;
    let part = |(number, text): (u16, &&'static str)| {
        let body = vec![Bytes::from(*text)];
        store.upload_part(&UploadPart { key: key.clone(), upload: upload.clone(), number, body }, soon()).unwrap().tag
    };
    let parts = (1..).zip(parts).map(part).collect();
    CompleteUpload { key, upload, parts }
}

#[test]
fn an_upload_never_replaces_an_object_and_outlives_the_refusal() {
    let store = Memory::new();
    let complete = upload(&store, "a", &["one ", "two"]);
    swap(&store, &Bytes::from("object"), SwapCondition::Absent);
    let fault = store.complete_upload(&complete, soon()).unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Precondition));
    store.delete(&Delete { key: Key::from("a") }, soon()).unwrap();
    store.complete_upload(&complete, soon()).unwrap();
    assert_eq!(read(&store, "a"), "one two");
    let again = store.complete_upload(&complete, soon()).unwrap_err();
    assert_eq!(again.refusal(), Some(&RefusalKind::NotFound));
}

#[test]
fn of_an_upload_whose_body_is_discarded_the_size_is_left() {
    let store = Memory::discarding(|key| key.as_str() == "kept");
    for key in ["kept", "discarded"] {
        store.complete_upload(&upload(&store, key, &["abc", "de"]), soon()).unwrap();
        assert_eq!(store.stat(&Stat { key: Key::from(key) }, soon()).unwrap().meta.size, 5);
    }
    assert_eq!(read(&store, "kept"), "abcde");
    let fault = store.get(&Get::new(Key::from("discarded"), ByteRange::All, 9), soon()).unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Unsupported));
}
