//! The counting wrapper.
use crate::soon;
use bucketlog_blocking::store::{Counted, Counts, Memory, Store};
use bucketlog_core::boundary::{
    AbortUpload, ByteRange, CompleteUpload, Create, CreateUpload, Delete, DeleteMany, Get, Key, List, ListUploads,
    Stat, Swap, SwapCondition, UploadPart,
};
use bytes::Bytes;

#[test]
fn each_kind_of_request_is_counted_with_its_bytes_whatever_its_outcome() {
    let store = Counted::new(Memory::new());
    let key = || Key::from("a");
    let create = Create { key: key(), body: vec![Bytes::from("abc"), Bytes::from("de")] };
    store.create(&create, soon()).unwrap();
    store.create(&create, soon()).unwrap_err();
    let swap = Swap { key: key(), body: Bytes::from("x"), condition: SwapCondition::Absent };
    store.swap(&swap, soon()).unwrap_err();
    store.get(&Get::new(key(), ByteRange::FromTo(1, 4), 9), soon()).unwrap();
    let before = store.counts();
    store.get(&Get::new(Key::from("b"), ByteRange::All, 9), soon()).unwrap_err();
    store.stat(&Stat { key: key() }, soon()).unwrap();
    store.list(&List { prefix: key(), after: None, limit: 1 }, soon()).unwrap();
    store.delete(&Delete { key: key() }, soon()).unwrap();

    let counts = store.counts();
    let expected = Counts {
        get: 2,
        stat: 1,
        list: 1,
        delete: 1,
        create: 2,
        swap: 1,
        bytes_in: 11,
        bytes_out: 3,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
    assert_eq!(counts.requests(), 8);
    assert_eq!(counts - before, Counts { get: 1, stat: 1, list: 1, delete: 1, ..Counts::default() });
}

#[test]
fn steps_of_uploads_and_bulk_deletes_are_counted_once_each() {
    let store = Counted::new(Memory::new());
    let key = || Key::from("a");
    let upload = store.create_upload(&CreateUpload { key: key() }, soon()).unwrap().upload;
    let body = vec![Bytes::from("abc"), Bytes::from("de")];
    let part = UploadPart { key: key(), upload: upload.clone(), number: 1, body };
    let tag = store.upload_part(&part, soon()).unwrap().tag;
    let complete = CompleteUpload { key: key(), upload: upload.clone(), parts: vec![tag] };
    store.complete_upload(&complete, soon()).unwrap();
    store.upload_part(&part, soon()).unwrap_err();
    store.abort_upload(&AbortUpload { key: key(), upload }, soon()).unwrap();
    store.list_uploads(&ListUploads { prefix: key(), after: None, limit: 1 }, soon()).unwrap();
    store.delete_many(&DeleteMany { keys: vec![key(), Key::from("b")] }, soon()).unwrap();
    let expected = Counts {
        delete_many: 1,
        create_upload: 1,
        upload_part: 2,
        complete_upload: 1,
        abort_upload: 1,
        list_uploads: 1,
        bytes_in: 10,
        ..Counts::default()
    };
    assert_eq!(store.counts(), expected);
    assert_eq!((store.counts().requests(), store.counts() - expected), (7, Counts::default()));
}
