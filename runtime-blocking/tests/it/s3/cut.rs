//! A writer that dies between the headers and the body of a swap.
use super::{options, swap};
use crate::soon;
use bucketlog_blocking::store::Store as _;
use bucketlog_blocking::store::s3::{S3, S3Options, Session};
use bucketlog_core::boundary::{ByteRange, Get, GetReply, Key, Swap, SwapCondition};
use bucketlog_fixtures::servers::seaweedfs;
use bytes::Bytes;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

const LENGTH: usize = 700;

/// Sends the head of a request and not one byte of its body. Returns once the server has answered or hung up.
fn send_without_body(session: &Session, request: &Swap) {
    let sent = session.sign(request, &session.signer(soon()).unwrap()).unwrap();
    let (host, path) = sent.url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut head = format!("{} /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {LENGTH}\r\n", sent.method);
    head.extend(sent.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
    let mut connection = TcpStream::connect(host).unwrap();
    connection.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    connection.shutdown(Shutdown::Write).unwrap();
    // What it answers is of no interest to somebody who is dead.
    let _ = connection.read_to_end(&mut Vec::new());
}

/// SeaweedFS 4.48 replaces the object by an empty one and answers 200: a head would be gone. With a checksum it refuses.
#[test]
fn seaweedfs_keeps_what_a_write_without_its_body_was_to_replace_only_if_checksums_are_sent() {
    let Some(server) = seaweedfs() else { return };
    for checksums in [false, true] {
        let options = || S3Options { checksums, ..options(&server.endpoint()) };
        let (store, session) = (S3::open(options()).unwrap(), Session::open(options()).unwrap());
        let name = format!("cut/{checksums}");
        let version = swap(&store, &name, SwapCondition::Absent).unwrap().version.unwrap();
        let (key, body) = (Key::from(&*name), Bytes::from(vec![2; LENGTH]));
        send_without_body(&session, &Swap { key: key.clone(), body, condition: SwapCondition::Matches(version) });
        let GetReply::Found { body, .. } = store.get(&Get::new(key, ByteRange::All, 1_000), soon()).unwrap() else {
            panic!("no version was named");
        };
        assert_eq!(body, if checksums { "a state" } else { "" }, "checksums {checksums}");
    }
}
