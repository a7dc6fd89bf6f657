//! What a session does for any HTTP client.
use super::options;
use crate::soon;
use bucketlog_blocking::store::s3::credentials::{Credentials, Keys, NoKeys};
use bucketlog_blocking::store::s3::{HttpAnswer, S3Options, Session};
use bucketlog_core::boundary::{Fault, Key, List, RefusalKind, Stat};
use std::sync::Arc;
use std::time::Instant;

fn session() -> Session {
    Session::open(options("http://store.example")).unwrap()
}

fn stat() -> Stat {
    Stat { key: Key::from("a") }
}

fn refusal(code: &str) -> HttpAnswer {
    let mut answer = HttpAnswer { status: 403, ..HttpAnswer::default() };
    answer.body = format!("<Error><Code>{code}</Code></Error>").into();
    answer.headers.insert("date", "Wed, 02 Jan 2030 03:04:05 GMT".parse().unwrap());
    answer
}

#[test]
fn keys_are_known_from_the_first_answer_of_their_source_until_the_store_calls_them_expired() {
    let session = session();
    assert!(session.known_signer().is_none(), "nobody has asked yet");
    session.signer(soon()).unwrap();
    assert!(session.known_signer().is_some());
    session.read(&stat(), &refusal("ExpiredToken")).unwrap_err();
    assert!(session.known_signer().is_none());
}

#[test]
fn a_source_without_keys_means_that_nothing_was_sent() {
    #[derive(Debug)]
    struct Nothing;
    impl Credentials for Nothing {
        fn keys(&self, _: Instant) -> Result<Option<Keys>, NoKeys> {
            Err(NoKeys("the drawer is empty".to_owned()))
        }
    }
    let options = S3Options { credentials: Arc::new(Nothing), ..options("http://store.example") };
    let fault = Session::open(options).unwrap().signer(soon()).unwrap_err();
    assert!(matches!(fault, Fault::NotSent(_)) && fault.to_string().contains("drawer"), "{fault}");
}

#[test]
fn e15_a_session_signs_with_the_time_that_the_store_told() {
    let session = session();
    let signer = session.signer(soon()).unwrap();
    session.read(&stat(), &refusal("RequestTimeTooSkewed")).unwrap_err();
    let url = session.sign(&stat(), &signer).unwrap().url;
    assert!(url.contains("X-Amz-Date=20300102T03"), "{url}");
}

fn redirect() -> HttpAnswer {
    let mut answer = HttpAnswer { status: 301, ..HttpAnswer::default() };
    answer.headers.insert("x-amz-bucket-region", "eu-north-1".parse().unwrap());
    answer
}

/// At AWS a region has an endpoint of its own.
#[test]
fn g06_a_redirect_is_followed_by_the_next_attempt_unless_the_endpoint_was_named() {
    let keys = Keys::new("A", "S");
    let session = Session::open(S3Options::new("logs", "us-east-1", keys)).unwrap();
    let signer = session.signer(soon()).unwrap();
    for attempt in 0..2 {
        let fault = session.read(&stat(), &redirect()).unwrap_err();
        assert_eq!(fault.refusal(), Some(&RefusalKind::Throttled(None)), "{attempt}: of two that were under way");
        assert!(fault.to_string().contains("eu-north-1"), "{fault}");
    }
    let url = session.sign(&stat(), &signer).unwrap().url;
    assert!(url.starts_with("https://logs.s3.eu-north-1.amazonaws.com/a?"), "{url}");
    assert!(url.contains("%2Feu-north-1%2Fs3%2F"), "{url}");

    let named = self::session();
    let fault = named.read(&stat(), &redirect()).unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Invalid));
    assert!(fault.to_string().contains("eu-north-1"), "{fault}");
}

#[test]
fn g06_a_region_that_can_be_no_part_of_a_host_name_is_only_shown() {
    let session = Session::open(S3Options::new("logs", "us-east-1", Keys::new("A", "S"))).unwrap();
    let mut answer = redirect();
    answer.headers.insert("x-amz-bucket-region", "evil.example/".parse().unwrap());
    assert_eq!(session.read(&stat(), &answer).unwrap_err().refusal(), Some(&RefusalKind::Invalid));
}

#[test]
fn a_request_that_is_none_gets_no_signature() {
    let session = session();
    let signer = session.signer(soon()).unwrap();
    let fault = session.sign(&List { prefix: Key::from(""), after: None, limit: 0 }, &signer).unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Invalid));
}

#[test]
fn g05_a_session_and_its_signer_show_nothing_secret() {
    let session = session();
    let shown = format!("{session:?} {:?}", session.signer(soon()).unwrap());
    assert!(!shown.contains(bucketlog_fixtures::servers::SECRET_KEY), "{shown}");
}
