//! What comes of connections that break, servers that are silent, and answers that end early (A20, G09, G10, G11).
use super::{create, get, impatient, options, scripted_with, stale, swap};
use bucketlog_blocking::store::Store;
use bucketlog_blocking::store::s3::S3;
use bucketlog_core::boundary::{ByteRange, Fault, Get, Key, SwapCondition};
use bucketlog_fixtures::servers::{Act, Conditions, Reply, Scripted};
use std::net::TcpListener;
use std::time::Instant;

/// Makes one request that meets `act`; it must be indeterminate and the only one.
#[track_caller]
fn check(method: &'static str, act: &Act, request: impl FnOnce(&S3) -> Option<Fault>) {
    let (server, store) = scripted_with(Conditions::Atomic, impatient);
    create(&store, "there").unwrap();
    drop(server.take_seen());
    server.next(method, act.clone());
    let fault = request(&store);
    assert!(matches!(fault, Some(Fault::Indeterminate(_))), "{method} {act:?}: {fault:?}");
    assert_eq!(server.seen().len(), 1, "{method} {act:?}: exactly one attempt");
}

fn breaks() -> Vec<Act> {
    let mut acts = vec![Act::CutBeforeBody, Act::CutInBody, Act::ShortBody];
    for applied in [false, true] {
        acts.extend([Act::CutUnanswered { applied }, Act::Stall { applied }]);
    }
    acts
}

#[test]
fn g11_a_break_at_any_point_is_indeterminate_and_nothing_is_tried_again() {
    for act in breaks() {
        check("GET", &act, |store| get(store, "there").err());
        check("PUT", &act, |store| create(store, "new").err());
        check("PUT", &act, |store| swap(store, "new", SwapCondition::Absent).err());
    }
}

#[test]
fn a20_server_errors_are_answered_by_one_attempt() {
    for status in [500, 502, 503, 504, 429, 408, 401, 403, 409] {
        let (server, store) = scripted_with(Conditions::Atomic, impatient);
        for method in ["GET", "PUT"] {
            server.next(method, Act::Answer { applied: false, reply: Reply::status(status).with("retry-after", "0") });
        }
        assert!(get(&store, "a").is_err() && create(&store, "a").is_err(), "{status}");
        assert_eq!(server.seen().len(), 2, "{status}: one attempt each");
    }
}

#[test]
fn a20_redirects_are_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Scripted::start();
        let (server, store) = scripted_with(Conditions::Atomic, |options| options);
        let reply = Reply::status(status).with("location", format!("{}/tests/a", elsewhere.endpoint()));
        for method in ["GET", "PUT"] {
            server.next(method, Act::Answer { applied: false, reply: reply.clone() });
        }
        assert!(get(&store, "a").is_err() && create(&store, "a").is_err(), "{status}");
        assert_eq!((server.seen().len(), elsewhere.seen().len()), (2, 0), "{status}");
    }
}

#[test]
fn a20_a_connection_that_was_closed_while_idle_costs_no_second_attempt() {
    let (server, store) = scripted_with(Conditions::Atomic, |options| options);
    create(&store, "a").unwrap();
    for method in ["GET", "PUT", "GET"] {
        server.next(method, Act::CloseAfterwards);
    }
    let outcomes =
        [get(&store, "a").is_ok(), swap(&store, "b", SwapCondition::Absent).is_ok(), get(&store, "a").is_ok()];
    assert_eq!(server.seen().len(), 4, "one attempt each, whatever came of it: {outcomes:?}");
}

#[test]
fn connections_are_used_again() {
    let (server, store) = scripted_with(Conditions::Atomic, |options| options);
    for n in 0..5 {
        create(&store, &format!("{n}")).unwrap();
        get(&store, &format!("{n}")).unwrap();
        get(&store, "missing").unwrap_err();
        swap(&store, "missing", stale()).unwrap_err();
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn g09_a_body_that_stalls_ends_with_the_idle_timeout() {
    check("GET", &Act::StallInBody, |store| get(store, "there").err());
}

#[test]
fn the_deadline_of_the_request_bounds_it_all() {
    let (server, store) = scripted_with(Conditions::Atomic, |options| options);
    let whole = |key| Get::new(Key::from(key), ByteRange::All, 100);
    let passed = store.get(&whole("a"), Instant::now());
    assert!(matches!(passed, Err(Fault::NotSent(_))), "{passed:?}");
    assert_eq!(server.seen(), []);
}

/// The address of a listener that is gone.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn g11_name_lookup_connect_and_tls_failures_are_not_sent() {
    let plain = Scripted::start();
    let tls = plain.endpoint().replace("http:", "https:");
    for endpoint in [format!("http://{}", nobody()), "http://no-such-host.invalid".to_owned(), tls] {
        let store = S3::open(options(&endpoint)).unwrap();
        for fault in [get(&store, "a").unwrap_err(), create(&store, "a").unwrap_err()] {
            assert!(matches!(fault, Fault::NotSent(_)), "{endpoint}: {fault}");
        }
    }
    assert!(plain.seen().iter().all(|seen| !seen.target.contains("tests")), "no request arrived");
}
