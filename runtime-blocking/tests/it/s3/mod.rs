//! The store for S3 over ureq: against a scripted server and a real one.
mod answers;
mod bulk;
mod conformance;
mod costs;
mod credentials;
mod cut;
mod faults;
mod log;
mod sent;
mod session;
mod uploads;

use bucketlog_blocking::store::Store;
use bucketlog_blocking::store::s3::credentials::Keys;
use bucketlog_blocking::store::s3::{S3, S3Options};
use bucketlog_core::boundary::{
    ByteRange, Create, CreateReply, Fault, Get, GetReply, Key, Swap, SwapCondition, SwapReply, Version,
};
use bucketlog_fixtures::servers::{ACCESS_KEY, BUCKET, Conditions, SECRET_KEY, Scripted};
use bytes::Bytes;
use std::time::Duration;

use crate::soon;

/// Options for a test server.
fn options(endpoint: &str) -> S3Options {
    let keys = Keys::new(ACCESS_KEY, SECRET_KEY);
    S3Options { endpoint: Some(endpoint.to_owned()), ..S3Options::new(BUCKET, "us-east-1", keys) }
}

/// A scripted server and a store that speaks with it.
pub(crate) fn scripted() -> (Scripted, S3) {
    scripted_with(Conditions::Atomic, |options| options)
}

fn scripted_with(conditions: Conditions, change: impl FnOnce(S3Options) -> S3Options) -> (Scripted, S3) {
    let server = Scripted::with(conditions);
    let store = S3::open(change(options(&server.endpoint()))).unwrap();
    (server, store)
}

/// A client that soon loses patience with a server that is silent.
fn impatient(mut options: S3Options) -> S3Options {
    let little = Duration::from_millis(50);
    (options.timeouts.first_byte, options.timeouts.idle) = (little, little);
    options
}

fn get(store: &dyn Store, key: &str) -> Result<GetReply, Fault> {
    store.get(&Get::new(Key::from(key), ByteRange::All, 1 << 20), soon())
}

fn create(store: &dyn Store, key: &str) -> Result<CreateReply, Fault> {
    let body = ["one ", "two ", "three"].map(Bytes::from).to_vec();
    store.create(&Create { key: Key::from(key), body }, soon())
}

fn swap(store: &dyn Store, key: &str, condition: SwapCondition) -> Result<SwapReply, Fault> {
    store.swap(&Swap { key: Key::from(key), body: Bytes::from("a state"), condition }, soon())
}

fn stale() -> SwapCondition {
    SwapCondition::Matches(Version::from("\"stale\""))
}
