//! G05: nothing secret shows.
use crate::kit::{
    OPERATIONS, THEN, abort, answer, begin_upload, bucket, complete, create, delete_many, get, keys, list,
    list_uploads, outcome, part, swap,
};
use bucketlog_core::boundary::{ByteRange, Delete, Key, Stat};
use bucketlog_s3_presign::{Dialect, Exchange};
use std::fmt::Debug;

#[track_caller]
fn assert_public(shown: &(impl Debug + ?Sized)) {
    let text = format!("{shown:?} {shown:#?}");
    for secret in ["SECRETSECRET", "TOKENTOKEN", "X-Amz", "Signature="] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn debug_output_of_keys_buckets_and_requests_is_public() {
    let (bucket, keys) = (bucket(Dialect::Aws), keys());
    assert_public(&keys);
    assert_public(&bucket);
    let stat = Stat { key: Key::from("a/key") };
    let delete = Delete { key: Key::from("a/key") };
    for request in [
        get(ByteRange::All).to_http(&bucket, Some(&keys), THEN),
        create().to_http(&bucket, Some(&keys), THEN),
        swap("\"a\"").to_http(&bucket, Some(&keys), THEN),
        list().to_http(&bucket, Some(&keys), THEN),
        stat.to_http(&bucket, Some(&keys), THEN),
        delete.to_http(&bucket, Some(&keys), THEN),
        begin_upload().to_http(&bucket, Some(&keys), THEN),
        part().to_http(&bucket, Some(&keys), THEN),
        complete(&["p"]).to_http(&bucket, Some(&keys), THEN),
        abort().to_http(&bucket, Some(&keys), THEN),
        list_uploads().to_http(&bucket, Some(&keys), THEN),
        delete_many().to_http(&bucket, Some(&keys), THEN),
    ] {
        assert!(request.url.contains("X-Amz-Signature="), "it is signed");
        assert_public(&request);
    }
}

#[test]
fn what_a_store_repeats_of_a_signature_is_not_passed_on() {
    let document = "<Error><Code>SignatureDoesNotMatch</Code><Message>with TOKENTOKEN</Message>\
        <StringToSign>X-Amz-Date</StringToSign><SignatureProvided>Signature=1</SignatureProvided></Error>";
    for operation in OPERATIONS {
        for status in [400, 403, 500] {
            let (_, fault) = outcome(operation, &answer(status, &[], document));
            let fault = fault.expect("no success");
            assert_public(&fault);
            assert_public(&fault.to_string());
            assert!(fault.to_string().contains("SignatureDoesNotMatch"), "{fault}");
        }
    }
}
