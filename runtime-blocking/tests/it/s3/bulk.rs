//! Deletes of many objects over HTTP.
use super::{create, get, scripted};
use crate::soon;
use bucketlog_blocking::store::Store;
use bucketlog_blocking::store::s3::S3;
use bucketlog_core::boundary::{DeleteMany, Fault, Key, RefusalKind};
use bucketlog_fixtures::servers::{Act, Reply, Scripted};

type Outcomes = Result<Vec<Result<(), Fault>>, Fault>;

fn delete_many(store: &S3, keys: &[&str]) -> Outcomes {
    let keys = keys.iter().map(|key| Key::from(*key)).collect();
    Ok(store.delete_many(&DeleteMany { keys }, soon())?.outcomes)
}

fn methods(server: &Scripted) -> Vec<String> {
    server.take_seen().into_iter().map(|seen| seen.method).collect()
}

fn answered_with(reply: &Reply) -> (Outcomes, Vec<String>) {
    let (server, store) = scripted();
    server.next("POST", Act::Answer { applied: false, reply: reply.clone() });
    (delete_many(&store, &["a", "b"]), methods(&server))
}

#[test]
fn many_objects_are_deleted_by_one_request() {
    let (server, store) = scripted();
    create(&store, "a&b").unwrap();
    drop(server.take_seen());
    assert_eq!(delete_many(&store, &["a&b", "missing"]), Ok(vec![Ok(()), Ok(())]));
    assert_eq!(methods(&server), ["POST"]);
    assert!(get(&store, "a&b").is_err());
}

#[test]
fn c11_a_store_without_bulk_deletes_is_asked_once_and_then_deletes_one_by_one() {
    for (status, code) in [(501, "NotImplemented"), (405, "MethodNotAllowed"), (400, "MissingContentMD5")] {
        let (server, store) = scripted();
        for key in ["a", "b", "c"] {
            create(&store, key).unwrap();
        }
        drop(server.take_seen());
        server.next("POST", Act::Answer { applied: false, reply: Reply::error(status, code) });
        assert_eq!(delete_many(&store, &["a", "b", "missing"]), Ok(vec![Ok(()); 3]), "{code}");
        assert_eq!(methods(&server), ["POST", "DELETE", "DELETE", "DELETE"], "{code}");
        assert_eq!(delete_many(&store, &["c"]), Ok(vec![Ok(())]), "{code}");
        assert_eq!(methods(&server), ["DELETE"], "{code}: remembered");
        assert!(["a", "b", "c"].iter().all(|key| get(&store, key).is_err()), "{code}");
    }
}

#[test]
fn c11_one_by_one_each_key_has_its_own_outcome() {
    let (server, store) = scripted();
    server.next("POST", Act::Answer { applied: false, reply: Reply::error(501, "NotImplemented") });
    for reply in [Reply::error(403, "AccessDenied"), Reply::status(500)] {
        server.next("DELETE", Act::Answer { applied: false, reply });
    }
    let outcomes = delete_many(&store, &["a", "b", "c"]).unwrap();
    assert_eq!(outcomes[0].as_ref().unwrap_err().refusal(), Some(&RefusalKind::Denied));
    assert!(matches!(outcomes[1], Err(Fault::Indeterminate(_))), "{outcomes:?}");
    assert_eq!(outcomes[2], Ok(()));
}

#[test]
fn other_failures_of_a_bulk_delete_are_answers_and_nothing_else_is_tried() {
    for reply in [Reply::error(500, "InternalError"), Reply::error(503, "SlowDown"), Reply::error(403, "AccessDenied")]
    {
        let (outcome, methods) = answered_with(&reply);
        assert!(outcome.is_err(), "{reply:?}");
        assert_eq!(methods, ["POST"], "{reply:?}");
    }
}

#[test]
fn each_key_of_a_bulk_delete_has_its_own_outcome() {
    let body = "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Deleted><Key>b</Key></Deleted>\
        <Error><Key>a</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>";
    let (outcomes, _) = answered_with(&Reply::status(200).body(body));
    let outcomes = outcomes.unwrap();
    let fault = outcomes[0].as_ref().unwrap_err();
    assert!(fault.refusal() == Some(&RefusalKind::Denied) && fault.to_string().contains("s3:DeleteObject"), "{fault}");
    assert_eq!(outcomes[1], Ok(()));
}

#[test]
fn d02_a_bulk_delete_whose_answer_breaks_off_or_is_foreign_is_indeterminate() {
    let cut = "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Deleted><Key>a</Key></Deleted>";
    for body in ["", "<html></html>", cut] {
        let (outcome, _) = answered_with(&Reply::status(200).body(body));
        assert!(matches!(outcome, Err(Fault::Indeterminate(_))), "{body:?}: {outcome:?}");
    }
}

#[test]
fn what_s3_does_not_take_is_never_sent() {
    let (server, store) = scripted();
    for count in [0, 1_001] {
        let fault = delete_many(&store, &vec!["a"; count]).unwrap_err();
        assert_eq!(fault.refusal(), Some(&RefusalKind::Invalid), "{count} keys");
    }
    assert_eq!(server.seen(), []);
}
