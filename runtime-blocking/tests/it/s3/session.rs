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
