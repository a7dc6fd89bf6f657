//! Keys from services, and what becomes of them.
use super::{get, options};
use crate::soon;
use bucketlog_blocking::store::s3::credentials::{Anonymous, Container, Credentials, Instance, Keys, WebIdentity};
use bucketlog_blocking::store::s3::{S3, S3Options};
use bucketlog_fixtures::servers::{Act, Reply, Scripted, seaweedfs};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const JSON: &str =
    r#"{"Code":"Success","AccessKeyId":"A","SecretAccessKey":"S","Token":"T","Expiration":"2030-01-01T00:00:00Z"}"#;

fn temporary() -> Keys {
    let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_893_456_000);
    Keys { session_token: Some("T".to_owned()), expires: Some(end), ..Keys::new("A", "S") }
}

fn answer(text: &str) -> Act {
    Act::Answer { applied: false, reply: Reply::status(200).body(text) }
}

#[test]
fn an_instance_asks_for_a_token_its_role_and_the_keys() {
    let server = Scripted::start();
    server.next("PUT", answer("token"));
    server.next("GET", answer("the-role\n"));
    server.next("GET", answer(JSON));
    assert_eq!(Instance::at(&server.endpoint()).keys(soon()), Ok(Some(temporary())));
    let seen = server.seen();
    assert!(seen[2].target.ends_with("/security-credentials/the-role"), "{}", seen[2].target);
    assert!(seen[1..].iter().all(|seen| seen.header("x-aws-ec2-metadata-token") == Some("token")));
}

#[test]
fn g01_the_token_files_of_containers_and_web_identities_are_read_each_time() {
    let xml = "<R><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey>\
               <SessionToken>T</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></R>";
    let server = Scripted::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let path = file.to_str().unwrap();
    let container = Container::at(&server.endpoint()).unwrap().with_token_file(path);
    let identity = WebIdentity::at(&server.endpoint(), "role", "session", path);
    for token in ["first", "second-and-longer"] {
        fs::write(&file, token).unwrap();
        server.next("GET", answer(JSON));
        server.next("POST", answer(xml));
        assert_eq!(container.keys(soon()), Ok(Some(temporary())));
        assert_eq!(identity.keys(soon()), Ok(Some(temporary())));
        let seen = server.take_seen();
        assert_eq!(seen[0].header("authorization"), Some(token));
        assert!(seen[1].body > token.len() && !seen[1].target.contains(token), "the token is in the body");
    }
}

#[test]
fn a_service_that_refuses_is_told_by_its_status_alone() {
    let server = Scripted::start();
    server.next("PUT", Act::Answer { applied: false, reply: Reply::status(403).body("SECRET") });
    let error = Instance::at(&server.endpoint()).keys(soon()).unwrap_err().to_string();
    assert_eq!(error, "no keys to sign with: the service for keys answered with status 403");
}

#[test]
fn without_keys_requests_are_not_signed() {
    let server = Scripted::start();
    let store = S3::open(S3Options { credentials: Arc::new(Anonymous), ..options(&server.endpoint()) }).unwrap();
    get(&store, "a").unwrap_err();
    assert_eq!(server.seen()[0].target, "/tests/a");
}

#[test]
fn an_anonymous_caller_reads_what_a_real_server_lets_everybody_read() {
    let Some(server) = seaweedfs() else { return };
    super::create(&S3::open(options(&server.endpoint())).unwrap(), "anonymous/a").unwrap();
    let store = S3::open(S3Options { credentials: Arc::new(Anonymous), ..options(&server.endpoint()) }).unwrap();
    get(&store, "anonymous/a").unwrap();
    super::create(&store, "anonymous/b").unwrap_err();
}
