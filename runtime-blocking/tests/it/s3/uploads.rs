//! Uploads in parts over HTTP: what is sent, and what comes of answers that are lost, late or no answers at all.
use super::{create, get, impatient, scripted, scripted_with};
use crate::soon;
use bucketlog_blocking::store::Store;
use bucketlog_blocking::store::s3::{S3, S3Options};
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, CreateUpload, Fault, GetReply, Key, ListUploads, PartTag, RefusalKind, Stat, UploadId,
    UploadPart,
};
use bucketlog_fixtures::servers::{Act, Conditions, Reply, Scripted, Seen};
use bytes::Bytes;

const KEY: &str = "a";

fn begin(store: &S3) -> Result<UploadId, Fault> {
    Ok(store.create_upload(&CreateUpload { key: Key::from(KEY) }, soon())?.upload)
}

fn part(store: &S3, upload: &UploadId) -> Result<PartTag, Fault> {
    let body = ["one ", "part"].map(Bytes::from).to_vec();
    let part = UploadPart { key: Key::from(KEY), upload: upload.clone(), number: 1, body };
    Ok(store.upload_part(&part, soon())?.tag)
}

fn complete(store: &S3, upload: &UploadId, tag: PartTag) -> Result<(), Fault> {
    let complete = CompleteUpload { key: Key::from(KEY), upload: upload.clone(), parts: vec![tag] };
    store.complete_upload(&complete, soon()).map(drop)
}

fn abort(store: &S3, upload: &UploadId) -> Result<(), Fault> {
    store.abort_upload(&AbortUpload { key: Key::from(KEY), upload: upload.clone() }, soon())
}

fn uploads(store: &S3) -> Result<usize, Fault> {
    let list = ListUploads { prefix: Key::from(""), after: None, limit: 10 };
    Ok(store.list_uploads(&list, soon())?.uploads.len())
}

fn exists(store: &S3) -> bool {
    store.stat(&Stat { key: Key::from(KEY) }, soon()).is_ok()
}

/// A store with an upload that has all its parts.
fn ready(change: impl FnOnce(S3Options) -> S3Options) -> (Scripted, S3, UploadId, PartTag) {
    let (server, store) = scripted_with(Conditions::Atomic, change);
    let upload = begin(&store).unwrap();
    let tag = part(&store, &upload).unwrap();
    drop(server.take_seen());
    (server, store, upload, tag)
}

/// The answer to a complete, whether or not the store has executed it.
fn completed_with(reply: &Reply, applied: bool) -> (S3, Fault, Scripted, UploadId, PartTag) {
    let (server, store, upload, tag) = ready(|options| options);
    server.next("POST", Act::Answer { applied, reply: reply.clone() });
    let fault = complete(&store, &upload, tag.clone()).expect_err("no success");
    assert_eq!(exists(&store), applied, "a look at the key tells");
    (store, fault, server, upload, tag)
}

#[test]
fn g11_a_break_at_any_step_of_an_upload_is_indeterminate_and_nothing_is_tried_again() {
    type Step = fn(&S3, &UploadId, &PartTag) -> Result<(), Fault>;
    let steps: [(&str, Step); 5] = [
        ("POST", |store, _, _| begin(store).map(drop)),
        ("PUT", |store, upload, _| part(store, upload).map(drop)),
        ("POST", |store, upload, tag| complete(store, upload, tag.clone())),
        ("DELETE", |store, upload, _| abort(store, upload)),
        ("GET", |store, _, _| uploads(store).map(drop)),
    ];
    for (method, step) in steps {
        for act in [
            Act::CutBeforeBody,
            Act::CutUnanswered { applied: false },
            Act::CutUnanswered { applied: true },
            Act::Stall { applied: true },
            Act::ShortBody,
        ] {
            let (server, store, upload, tag) = ready(impatient);
            server.next(method, act.clone());
            let outcome = step(&store, &upload, &tag);
            assert!(matches!(outcome, Err(Fault::Indeterminate(_))), "{method} {act:?}: {outcome:?}");
            assert_eq!(server.seen().len(), 1, "{method} {act:?}: exactly one attempt");
        }
    }
}

#[test]
fn d01_a_completion_that_says_200_and_then_error_is_no_success() {
    for applied in [false, true] {
        let (_, fault, ..) = completed_with(&Reply::error(200, "InternalError"), applied);
        assert!(matches!(fault, Fault::Indeterminate(_)) && fault.to_string().contains("InternalError"), "{fault}");
    }
}

#[test]
fn d02_a_completion_with_a_truncated_or_foreign_body_is_no_success() {
    let cut = "<CompleteMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><ETag>\"e\"</ETag>";
    for body in ["", "   ", "<html>proxy</html>", "{\"ok\":true}", cut, "<CompleteMultipartUploadResult/>"] {
        let (_, fault, ..) = completed_with(&Reply::status(200).body(body), true);
        assert!(matches!(fault, Fault::Indeterminate(_)), "{body:?}: {fault}");
    }
}

#[test]
fn d03_a_completion_that_is_repeated_after_a_lost_answer_says_that_the_upload_is_gone() {
    let (store, _, _server, upload, tag) = completed_with(&Reply::status(500), true);
    let again = complete(&store, &upload, tag).unwrap_err();
    assert_eq!(again.refusal(), Some(&RefusalKind::NotFound), "{again}");
    assert!(again.to_string().contains("no such upload"), "{again}");
    let Ok(GetReply::Found { body, .. }) = get(&store, KEY) else { panic!("it is stored") };
    assert_eq!(body, "one part");
}

#[test]
fn b01_a_conflict_of_completions_is_undecided() {
    let (_, fault, ..) = completed_with(&Reply::error(409, "ConditionalRequestConflict"), false);
    assert_eq!(fault.refusal(), Some(&RefusalKind::Conflict));
}

#[test]
fn b04_a_server_error_in_answer_to_a_completion_is_indeterminate() {
    for applied in [false, true] {
        let (_, fault, ..) = completed_with(&Reply::error(500, "UnknownError"), applied);
        assert!(matches!(fault, Fault::Indeterminate(_)), "{fault}");
    }
}

#[test]
fn an_upload_that_is_gone_is_told_apart_from_other_refusals() {
    let (server, store, upload, tag) = ready(|options| options);
    let gone = |method| server.next(method, Act::Answer { applied: false, reply: Reply::error(404, "NoSuchUpload") });
    gone("PUT");
    assert_eq!(part(&store, &upload).unwrap_err().refusal(), Some(&RefusalKind::NotFound));
    gone("POST");
    assert_eq!(complete(&store, &upload, tag).unwrap_err().refusal(), Some(&RefusalKind::NotFound));
    gone("DELETE");
    assert_eq!(abort(&store, &upload), Ok(()), "thrown away is thrown away");
}

#[test]
fn a_completion_never_replaces_an_object_where_the_store_looks_at_the_condition() {
    let (server, store, upload, tag) = ready(|options| options);
    create(&store, KEY).unwrap();
    let fault = complete(&store, &upload, tag).unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Precondition));
    let sent = server.seen().pop().unwrap();
    assert_eq!((sent.method.as_str(), sent.header("if-none-match")), ("POST", Some("*")));
    assert_eq!(uploads(&store), Ok(1), "the upload is there to be thrown away");
}

#[test]
fn d02_a_listing_of_uploads_that_is_none_is_a_typed_failure() {
    let (server, store) = scripted();
    let cut = "<ListMultipartUploadsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>false</IsTruncated>";
    for body in ["", "<html>", cut] {
        server.next("GET", Act::Answer { applied: false, reply: Reply::status(200).body(body) });
        assert!(matches!(uploads(&store), Err(Fault::Indeterminate(_))), "{body:?}");
    }
}

#[test]
fn c09_checksums_go_along_where_they_are_asked_for() {
    let (server, store, upload, tag) = ready(|options| S3Options { checksums: true, ..options });
    assert!(tag.as_str().contains("crc32c:"), "{tag}: the store has noted it");
    complete(&store, &upload, tag).unwrap();
    part(&store, &upload).unwrap_err();
    create(&store, "b").unwrap();
    let checksum = |seen: Seen| seen.header("x-amz-checksum-crc32c").map(str::to_owned);
    let [completed, part, object] =
        server.take_seen().into_iter().map(checksum).collect::<Vec<_>>().try_into().unwrap();
    assert!(completed.is_none() && part.is_some() && object.is_some(), "{completed:?} {part:?} {object:?}");
    assert_ne!(part, object, "each body has its own");
}

#[test]
fn e15_a_signature_that_is_out_of_date_is_made_anew_at_every_step() {
    let (server, store, upload, tag) = ready(|options| options);
    let skewed = Reply::error(403, "RequestTimeTooSkewed").with("date", "Wed, 02 Jan 2030 03:04:05 GMT");
    server.next("POST", Act::Answer { applied: false, reply: skewed });
    let fault = complete(&store, &upload, tag.clone()).unwrap_err();
    assert!(matches!(fault.refusal(), Some(RefusalKind::Throttled(None))), "{fault}");
    complete(&store, &upload, tag).unwrap();
    assert!(server.seen()[1].target.contains("X-Amz-Date=20300102T03"), "signed by the store's clock");
}
