//! Stores by URL.
use crate::soon;
use bucketlog_blocking::store::{OpenStoreError, Store, open_url};
use bucketlog_core::boundary::{Create, Key};
use bytes::Bytes;

#[test]
fn a_file_url_names_a_directory_which_is_made_if_missing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("with space/store");
    let store = open_url(&format!("file://{}", root.display())).unwrap();
    store.create(&Create { key: Key::from("a/b"), body: vec![Bytes::from("content")] }, soon()).unwrap();
    assert_eq!(std::fs::read_to_string(root.join("a/b")).unwrap(), "content");
}

#[test]
fn a_memory_url_names_a_fresh_store() {
    let create = Create { key: Key::from("a"), body: Vec::new() };
    for _ in 0..2 {
        open_url("memory:").unwrap().create(&create, soon()).unwrap();
    }
}

#[test]
fn other_urls_are_refused_with_what_this_build_knows() {
    let table = [
        ("ftp://host/path", "unsupported scheme `ftp`; this build knows file://, memory: and s3://"),
        ("/plain/path", "a store URL begins with a scheme; this build knows file://, memory: and s3://"),
        ("file:relative", "a file URL needs an absolute path: file:///path"),
        ("file://host/path", "a file URL needs an absolute path: file:///path"),
        ("file://", "a file URL needs an absolute path: file:///path"),
        ("s3://", "an S3 URL is s3://bucket/prefix?endpoint=…&region=…, and never holds keys"),
        ("s3://key:secret@bucket", "an S3 URL is s3://bucket/prefix?endpoint=…&region=…, and never holds keys"),
        (
            "s3://bucket?endpoint=nonsense&region=r",
            "the endpoint is no URL with a host, such as https://s3.eu-west-1.amazonaws.com",
        ),
        ("memory:name", "`memory:` stands alone: a store in memory has no name"),
    ];
    for (url, expected) in table {
        assert_eq!(open_url(url).unwrap_err().to_string(), expected, "{url}");
    }
}

#[test]
fn a_file_in_the_way_is_named_with_the_cause() {
    let file = tempfile::NamedTempFile::new().unwrap();
    match open_url(&format!("file://{}", file.path().display())) {
        Err(OpenStoreError::Directory { path, cause }) => {
            assert_eq!((path.as_path(), cause.kind()), (file.path(), std::io::ErrorKind::NotADirectory));
        }
        other => panic!("expected a directory error, got {other:?}"),
    }
}
