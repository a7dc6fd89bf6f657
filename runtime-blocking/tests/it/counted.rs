//! The counting wrapper.
use crate::soon;
use bucketlog_blocking::store::{Counted, Counts, Memory, Store};
use bucketlog_core::boundary::{ByteRange, Create, Delete, Get, Key, List, Stat, Swap, SwapCondition};
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
    let expected = Counts { get: 2, stat: 1, list: 1, delete: 1, create: 2, swap: 1, bytes_in: 11, bytes_out: 3 };
    assert_eq!(counts, expected);
    assert_eq!(counts.requests(), 8);
    assert_eq!(counts - before, Counts { get: 1, stat: 1, list: 1, delete: 1, ..Counts::default() });
}
