//! What goes over the wire.
use super::{create, get, scripted, scripted_with};
use bucketlog_blocking::store::s3::S3Options;
use bucketlog_blocking::store::s3::credentials::Keys;
use bucketlog_fixtures::servers::{Act, Conditions, Reply, Seen};
use std::sync::Arc;

/// Value of a parameter of a request's query.
fn parameter<'a>(seen: &'a Seen, name: &str) -> Option<&'a str> {
    let (_, query) = seen.target.split_once('?')?;
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[test]
fn c09_bodies_go_whole_without_chunks_trailers_or_checksums_nobody_asked_for() {
    let (server, store) = scripted();
    create(&store, "a").unwrap();
    let seen = server.seen().remove(0);
    assert_eq!((seen.header("content-length"), seen.body), (Some("13"), 13));
    for name in ["transfer-encoding", "content-encoding", "trailer", "x-amz-trailer", "expect"] {
        assert_eq!(seen.header(name), None, "{name}");
    }
    assert!(seen.headers.iter().all(|(name, _)| !name.starts_with("x-amz-checksum")), "{:?}", seen.headers);
    assert!(seen.headers.iter().all(|(_, value)| !value.contains("aws-chunked")), "{:?}", seen.headers);
}

#[test]
fn c13_only_what_no_proxy_rewrites_is_signed() {
    let (server, store) = scripted();
    create(&store, "a").unwrap();
    get(&store, "a").unwrap();
    for seen in server.seen() {
        let signed = parameter(&seen, "X-Amz-SignedHeaders").unwrap();
        assert!(signed.split("%3B").all(|name| name == "host" || name.starts_with("x-amz-")), "{signed}");
        assert_eq!(seen.header("accept-encoding"), None, "nothing may come compressed");
    }
}

#[test]
fn c14_a_session_token_is_sent_and_signed_once() {
    let (server, store) = scripted_with(Conditions::Atomic, |options| {
        let keys = Keys { session_token: Some("TOKEN/+=".to_owned()), ..Keys::new("A", "S") };
        S3Options { credentials: Arc::new(keys), ..options }
    });
    get(&store, "a").unwrap_err();
    let seen = server.seen().remove(0);
    assert_eq!(parameter(&seen, "X-Amz-Security-Token"), Some("TOKEN%2F%2B%3D"));
    assert_eq!(seen.target.matches("Security-Token").count(), 1);
    assert_eq!(seen.header("x-amz-security-token"), None);
}

#[test]
fn e15_the_next_signature_has_the_time_that_the_store_told() {
    let (server, store) = scripted();
    let skewed = Reply::error(403, "RequestTimeTooSkewed").with("date", "Wed, 02 Jan 2030 03:04:05 GMT");
    server.next("GET", Act::Answer { applied: false, reply: skewed });
    let fault = get(&store, "a").unwrap_err();
    assert!(fault.to_string().contains("clock"), "{fault}");
    get(&store, "a").unwrap_err();
    let dates: Vec<_> = server.seen().iter().map(|seen| parameter(seen, "X-Amz-Date").unwrap().to_owned()).collect();
    assert!(!dates[0].starts_with("2030") && dates[1].starts_with("20300102T03"), "{dates:?}");
}

#[test]
fn e15_a_clock_that_is_right_is_left_alone() {
    let (server, store) = scripted();
    get(&store, "a").unwrap_err();
    server.next("GET", Act::With("date", "Wed, 02 Jan 2030 03:04:05 GMT"));
    get(&store, "a").unwrap_err();
    get(&store, "a").unwrap_err();
    let date = parameter(&server.seen()[2], "X-Amz-Date").unwrap().to_owned();
    assert!(!date.starts_with("2030"), "an answer that does not complain moves no clock: {date}");
}

#[test]
fn g06_the_next_signature_is_for_the_region_that_the_store_told() {
    let (server, store) = scripted();
    let document = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>";
    server.next("GET", Act::Answer { applied: false, reply: Reply::status(400).body(document) });
    let fault = get(&store, "a").unwrap_err();
    assert!(fault.to_string().contains("eu-west-3"), "{fault}");
    get(&store, "a").unwrap_err();
    let seen = server.seen();
    let scope = |n: usize| parameter(&seen[n], "X-Amz-Credential").unwrap().to_owned();
    assert!(scope(0).contains("us-east-1") && scope(1).contains("eu-west-3"), "{} {}", scope(0), scope(1));
}
