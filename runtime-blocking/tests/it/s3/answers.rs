//! What each answer of a store means.
use super::{create, get, scripted, scripted_with, stale, swap};
use bucketlog_blocking::store::Store;
use bucketlog_blocking::store::s3::S3Options;
use bucketlog_core::boundary::{ByteRange, Fault, Get, GetReply, Key, RefusalKind, Swap, SwapCondition};
use bucketlog_fixtures::servers::{Act, Conditions, Reply};
use bytes::Bytes;
use std::time::Duration;

/// The fault of a create and of a swap that meet this answer.
fn faults_of_writes(reply: &Reply) -> [Fault; 2] {
    let (server, store) = scripted();
    for _ in 0..2 {
        server.next("PUT", Act::Answer { applied: false, reply: reply.clone() });
    }
    [create(&store, "a").unwrap_err(), swap(&store, "a", stale()).unwrap_err()]
}

#[track_caller]
fn assert_refused(reply: &Reply, kind: &RefusalKind) {
    for fault in faults_of_writes(reply) {
        assert_eq!(fault.refusal(), Some(kind), "{fault}");
    }
}

#[test]
fn b01_b02_a_conflict_is_undecided_and_never_exists() {
    for code in ["ConditionalRequestConflict", "OperationAborted"] {
        assert_refused(&Reply::error(409, code), &RefusalKind::Conflict);
    }
}

#[test]
fn b04_a_server_error_is_indeterminate() {
    for status in [500, 502, 504] {
        for fault in faults_of_writes(&Reply::error(status, "UnknownError")) {
            assert!(matches!(fault, Fault::Indeterminate(_)), "{fault}");
        }
    }
}

#[test]
fn b05_a_conflict_of_another_kind_is_no_lost_race_and_names_its_code() {
    for fault in faults_of_writes(&Reply::error(409, "BucketNotEmpty")) {
        assert!(!matches!(fault.refusal(), Some(RefusalKind::Precondition | RefusalKind::Conflict)), "{fault}");
        assert!(fault.to_string().contains("BucketNotEmpty"), "{fault}");
    }
}

#[test]
fn b06_a_swap_of_a_missing_object_is_refused_either_way() {
    for (conditions, expected) in
        [(Conditions::Atomic, RefusalKind::NotFound), (Conditions::Unquoted, RefusalKind::Precondition)]
    {
        let (_server, store) = scripted_with(conditions, |options| options);
        assert_eq!(swap(&store, "a", stale()).unwrap_err().refusal(), Some(&expected));
    }
}

#[test]
fn b13_not_modified_in_answer_to_a_create_means_that_the_key_exists() {
    let (server, store) = scripted();
    server.next("PUT", Act::Answer { applied: false, reply: Reply::status(304) });
    assert_eq!(create(&store, "a").unwrap_err().refusal(), Some(&RefusalKind::Precondition));
}

#[test]
fn throttling_passes_on_how_long_to_wait() {
    for (status, code) in [(503, "SlowDown"), (429, "TooManyRequests")] {
        let reply = Reply::error(status, code);
        assert_refused(&reply.clone().with("retry-after", "7"), &RefusalKind::Throttled(Some(Duration::from_secs(7))));
        assert_refused(&reply, &RefusalKind::Throttled(None));
    }
}

#[test]
fn a13_an_answer_without_a_tag_is_a_success_without_a_version() {
    let (server, store) = scripted();
    server.next("PUT", Act::Without("etag"));
    assert_eq!(swap(&store, "a", SwapCondition::Absent).unwrap().version, None);
    let Ok(GetReply::Found { version, .. }) = get(&store, "a") else { panic!("it is stored") };
    assert!(version.is_some(), "a read learns it");
}

#[test]
fn g06_a_bucket_in_another_region_names_it() {
    let (server, store) = scripted();
    let reply = Reply::error(301, "PermanentRedirect").with("x-amz-bucket-region", "eu-north-1");
    server.next("GET", Act::Answer { applied: false, reply });
    let fault = get(&store, "a").unwrap_err();
    assert!(fault.refusal().is_some() && fault.to_string().contains("eu-north-1"), "{fault}");
}

#[test]
fn g15_forbidden_is_not_absent_and_names_what_may_be_missing() {
    let (server, store) = scripted();
    server.next("GET", Act::Answer { applied: false, reply: Reply::error(403, "AccessDenied") });
    let fault = get(&store, "a").unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Denied));
    assert!(fault.to_string().contains("s3:ListBucket"), "{fault}");
}

#[test]
fn d01_success_with_an_error_document_is_no_success() {
    let (server, store) = scripted();
    let error = Reply::error(200, "InternalError");
    server.next("PUT", Act::Answer { applied: false, reply: error });
    let fault = create(&store, "a").unwrap_err();
    assert!(matches!(fault, Fault::Indeterminate(_)), "{fault}");
}

#[test]
fn d02_success_with_a_foreign_document_is_no_success_of_a_write() {
    for body in ["<html>proxy</html>", "{\"ok\":true}", "OK"] {
        for fault in faults_of_writes(&Reply::status(200).with("etag", "\"proxy\"").body(body)) {
            assert!(matches!(fault, Fault::Indeterminate(_)), "{body:?}: {fault}");
        }
    }
}

#[test]
fn d02_a_listing_that_is_none_is_a_typed_failure() {
    let (server, store) = scripted();
    let cut = "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>false</IsTruncated>";
    for body in ["", "<html>", "<?xml version=\"1.0\"?><ListBucketResult>", cut] {
        server.next("GET", Act::Answer { applied: false, reply: Reply::status(200).body(body) });
        let list = bucketlog_core::boundary::List { prefix: Key::from("a"), after: None, limit: 10 };
        assert!(store.list(&list, crate::soon()).is_err(), "{body:?}");
    }
}

#[test]
fn duplicate_application_shows_as_a_refusal_that_the_core_resolves() {
    let (server, store) = scripted();
    server.next("PUT", Act::Twice);
    assert_eq!(create(&store, "a").unwrap_err().refusal(), Some(&RefusalKind::Precondition));
    assert!(get(&store, "a").is_ok());
}

#[test]
fn a_body_above_the_limit_is_not_read() {
    let (_server, store) = scripted();
    let body = vec![Bytes::from(vec![7; 1 << 20])];
    let request = bucketlog_core::boundary::Create { key: Key::from("large"), body };
    store.create(&request, crate::soon()).unwrap();
    let fault = store.get(&Get::new(Key::from("large"), ByteRange::All, 100), crate::soon()).unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Invalid));
}

#[test]
fn g05_nothing_secret_shows_in_faults_or_debug_output() {
    let (server, store) = scripted_with(Conditions::Atomic, |options| {
        let keys = bucketlog_blocking::store::s3::credentials::Keys {
            session_token: Some("TOKENTOKEN".to_owned()),
            ..bucketlog_blocking::store::s3::credentials::Keys::new("AKTEST", "SECRETSECRET")
        };
        S3Options { credentials: std::sync::Arc::new(keys), ..options }
    });
    for act in [
        Act::CutBeforeBody,
        Act::ShortBody,
        Act::Answer { applied: false, reply: Reply::error(403, "SignatureDoesNotMatch") },
        Act::Answer { applied: false, reply: Reply::status(500) },
    ] {
        server.next("GET", act);
        let fault = get(&store, "a").unwrap_err();
        for text in [format!("{fault} {fault:?}"), format!("{store:?}")] {
            for secret in ["SECRETSECRET", "TOKENTOKEN", "Signature="] {
                assert!(!text.contains(secret), "{text}");
            }
        }
    }
}

#[test]
fn c03_c08_a_swap_sends_a_token_that_is_no_md5_as_the_store_gave_it() {
    let (server, store) = scripted();
    let version = swap(&store, "a", SwapCondition::Absent).unwrap().version.unwrap();
    let request = Swap { key: Key::from("a"), body: Bytes::new(), condition: SwapCondition::Matches(version.clone()) };
    store.swap(&request, crate::soon()).unwrap();
    assert_eq!(server.seen()[1].header("if-match"), Some(version.as_str()));
}
