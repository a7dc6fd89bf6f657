//! What is sent, and what of it is signed.
use crate::kit::{
    THEN, abort, answer, begin_upload, bucket, complete, create, delete_many, get, header, keys, list, list_uploads,
    part, swap,
};
use bucketlog_core::boundary::{
    ByteRange, CompleteUpload, DeleteMany, Fault, Get, Key, List, ListUploads, RefusalKind, Swap, SwapCondition,
    UploadPart,
};
use bucketlog_core::ids::TimestampMs;
use bucketlog_s3_presign::{Bucket, Dialect, Exchange, HttpRequest, SigningKeys, Style};

fn parameter<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let (_, query) = request.url.split_once('?')?;
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// The signature changes with every part of the request that is signed, and with nothing else.
fn signature(request: &HttpRequest) -> &str {
    parameter(request, "X-Amz-Signature").unwrap()
}

#[test]
fn c13_only_the_host_is_signed_by_default() {
    for request in [
        get(ByteRange::FromTo(2, 6)).to_http(&bucket(Dialect::Aws), Some(&keys()), THEN),
        create().to_http(&bucket(Dialect::Aws), Some(&keys()), THEN),
        swap("\"a\"").to_http(&bucket(Dialect::Tigris), Some(&keys()), THEN),
    ] {
        assert_eq!(parameter(&request, "X-Amz-SignedHeaders"), Some("host"), "{request:?}");
    }
}

#[test]
fn c14_a_session_token_is_signed_once() {
    let request = create().to_http(&bucket(Dialect::Aws), Some(&keys()), THEN);
    assert_eq!(request.url.matches("TOKENTOKEN").count(), 1);
    assert_eq!(header(&request, "x-amz-security-token"), None);
    let other = SigningKeys::new("AKEXAMPLE", "SECRETSECRET", Some("OTHER"));
    let changed = create().to_http(&bucket(Dialect::Aws), Some(&other), THEN);
    assert_ne!(signature(&request), signature(&changed), "the token is part of what is signed");
}

#[test]
fn e15_each_attempt_is_signed_for_its_own_moment() {
    let at = |time| create().to_http(&bucket(Dialect::Aws), Some(&keys()), TimestampMs(time));
    assert_eq!(parameter(&at(THEN.0), "X-Amz-Date"), Some("20130524T000000Z"));
    assert_ne!(signature(&at(THEN.0)), signature(&at(THEN.0 + 1000)));
    // A clock beyond any calendar still gives a request.
    assert!(parameter(&at(i64::MAX), "X-Amz-Date").is_some());
}

#[test]
fn without_keys_nothing_is_signed() {
    let request = list().to_http(&bucket(Dialect::Aws), None, THEN);
    assert!(!request.url.contains("X-Amz"), "{}", request.url);
    assert!(request.url.contains("start-after=a%2Fb") && request.url.contains("max-keys=100"), "{}", request.url);
}

#[test]
fn conditions_go_as_headers() {
    let create = create().to_http(&bucket(Dialect::Aws), Some(&keys()), THEN);
    assert_eq!((create.method, header(&create, "if-none-match")), ("PUT", Some("*")));
    assert_eq!(create.body.concat(), b"body in pieces");
    let absent = Swap { condition: SwapCondition::Absent, ..swap("") };
    assert_eq!(header(&absent.to_http(&bucket(Dialect::Aws), None, THEN), "if-none-match"), Some("*"));
    let get = Get { if_match: Some("\"a\"".into()), if_none_match: Some("\"b\"".into()), ..get(ByteRange::Suffix(7)) };
    let get = get.to_http(&bucket(Dialect::Aws), None, THEN);
    let found = ["range", "if-match", "if-none-match"].map(|name| header(&get, name));
    assert_eq!(found, [Some("bytes=-7"), Some("\"a\""), Some("\"b\"")]);
}

#[test]
fn c01_c03_tokens_are_echoed_byte_for_byte_but_where_the_dialect_wants_them_bare() {
    for (dialect, token) in [
        (Dialect::Aws, "\"5eb63-2\""),
        (Dialect::R2, "\"5eb63-2\""),
        (Dialect::CephRgw, "5eb63-2"),
        (Dialect::DigitalOcean, "5eb63-2"),
    ] {
        let request = swap("\"5eb63-2\"").to_http(&bucket(dialect), None, THEN);
        assert_eq!(header(&request, "if-match"), Some(token), "{}", dialect.name());
    }
}

#[test]
fn tigris_is_asked_for_its_leaders_answer() {
    let request = get(ByteRange::All).to_http(&bucket(Dialect::Tigris), None, THEN);
    assert_eq!(header(&request, "x-tigris-consistent"), Some("true"));
    assert_eq!(header(&get(ByteRange::All).to_http(&bucket(Dialect::Aws), None, THEN), "x-tigris-consistent"), None);
}

/// C09: only if it is asked for. The value is the CRC-32C of "body in pieces", over all pieces.
#[test]
fn a_checksum_is_sent_and_signed_where_it_is_asked_for() {
    let plain = create().to_http(&bucket(Dialect::Aws), Some(&keys()), THEN);
    assert!(plain.headers.iter().all(|(name, _)| !name.starts_with("x-amz-")), "{plain:?}");
    let request = create().to_http(&bucket(Dialect::Aws).with_checksums(), Some(&keys()), THEN);
    let crc = crc32c::crc32c(b"body in pieces").to_be_bytes();
    let sent = header(&request, "x-amz-checksum-crc32c").unwrap();
    assert_eq!(base64::Engine::decode(&base64::engine::general_purpose::STANDARD, sent).unwrap(), crc);
    assert_eq!(parameter(&request, "X-Amz-SignedHeaders"), Some("host%3Bx-amz-checksum-crc32c"));
}

#[test]
fn steps_of_an_upload_are_told_apart_by_method_and_parameters() {
    let aws = bucket(Dialect::Aws);
    let sent =
        |request: HttpRequest| format!("{} {}", request.method, request.url.replace("http://store.example:9000", ""));
    let all = [
        sent(begin_upload().to_http(&aws, None, THEN)),
        sent(part().to_http(&aws, None, THEN)),
        sent(complete(&["\"p\""]).to_http(&aws, None, THEN)),
        sent(abort().to_http(&aws, None, THEN)),
        sent(list_uploads().to_http(&aws, None, THEN)),
        sent(delete_many().to_http(&aws, None, THEN)),
    ];
    let expected = [
        "POST /logs/a/key?uploads=1",
        "PUT /logs/a/key?partNumber=7&uploadId=id%2F%2B1",
        "POST /logs/a/key?uploadId=id%2F%2B1",
        "DELETE /logs/a/key?uploadId=id%2F%2B1",
        "GET /logs/?encoding-type=url&key-marker=a%2Fb&max-uploads=100&prefix=a&upload-id-marker=id%2F%2B1&uploads=1",
        "POST /logs/?delete=1",
    ];
    assert_eq!(all, expected);
}

#[test]
fn every_parameter_of_a_listing_of_uploads_is_signed() {
    let signed = |list: &ListUploads| signature(&list.to_http(&bucket(Dialect::Aws), Some(&keys()), THEN)).to_owned();
    let all = [
        list_uploads(),
        ListUploads { prefix: Key::from("b"), ..list_uploads() },
        ListUploads { after: None, ..list_uploads() },
        ListUploads { limit: 7, ..list_uploads() },
    ];
    let signatures: std::collections::BTreeSet<_> = all.iter().map(signed).collect();
    assert_eq!(signatures.len(), all.len());
}

#[test]
fn an_upload_is_completed_under_a_condition_and_names_its_parts_in_order() {
    let request = complete(&["\"one\"", "two&"]).to_http(&bucket(Dialect::Aws), Some(&keys()), THEN);
    assert_eq!(header(&request, "if-none-match"), Some("*"));
    let body = String::from_utf8(request.body.concat()).unwrap();
    let part = |tag, number| format!("<Part><ETag>{tag}</ETag><PartNumber>{number}</PartNumber></Part>");
    let parts = [part("&quot;one&quot;", 1), part("two&amp;", 2)].concat();
    assert_eq!(body, format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>"));
    assert_eq!(request.content_length(), Some(body.len() as u64));
}

/// AWS wants the algorithm when an upload begins, and each part's checksum again when it is completed.
#[test]
fn c09_checksums_of_parts_come_back_when_the_upload_is_completed() {
    let bucket = bucket(Dialect::Aws).with_checksums();
    let begun = begin_upload().to_http(&bucket, Some(&keys()), THEN);
    assert_eq!(header(&begun, "x-amz-checksum-algorithm"), Some("CRC32C"));
    assert_eq!(parameter(&begun, "X-Amz-SignedHeaders"), Some("host%3Bx-amz-checksum-algorithm"));
    let sent = part().to_http(&bucket, Some(&keys()), THEN);
    let checksum = header(&sent, "x-amz-checksum-crc32c").unwrap();
    assert_eq!(parameter(&sent, "X-Amz-SignedHeaders"), Some("host%3Bx-amz-checksum-crc32c"));
    let noted = answer(200, &[("etag", "\"p\""), ("x-amz-checksum-crc32c", checksum)], "");
    let silent = answer(200, &[("etag", "\"p\"")], "");
    let tags = [noted, silent].map(|answer| part().reply(&bucket, &answer).unwrap().tag);
    let completed = CompleteUpload { parts: tags.to_vec(), ..complete(&[]) }.to_http(&bucket, None, THEN);
    let body = String::from_utf8(completed.body.concat()).unwrap();
    assert_eq!(body.matches("<ETag>&quot;p&quot;</ETag>").count(), 2, "{body}");
    assert_eq!(body.matches(&format!("<ChecksumCRC32C>{checksum}</ChecksumCRC32C>")).count(), 1, "{body}");
}

/// The digest is that of the body, as `openssl dgst -md5 -binary | base64` has it.
#[test]
fn c11_a_bulk_delete_carries_the_md5_that_stores_ask_for() {
    let request = delete_many().to_http(&bucket(Dialect::Aws).with_prefix("p&/"), Some(&keys()), THEN);
    let row = |key: &str| format!("<Object><Key>p&amp;/a/{key}</Key></Object>");
    let body = format!("<Delete>{}</Delete>", ["1", "2", "3"].map(row).concat());
    assert_eq!(request.body.concat(), body.as_bytes());
    assert_eq!(header(&request, "content-md5"), Some("ERXxnwVM4r0G/QY8xv5C2g=="));
    assert_eq!(parameter(&request, "X-Amz-SignedHeaders"), Some("host"));
}

#[test]
fn numbers_outside_of_s3s_limits_are_invalid_before_anything_is_sent() {
    #[track_caller]
    fn check(request: &impl Exchange, is_taken: bool) {
        let kind = request.check().as_ref().map_err(Fault::refusal).err().flatten().cloned();
        assert_eq!(kind, (!is_taken).then_some(RefusalKind::Invalid));
    }
    for (number, is_taken) in [(0, false), (1, true), (1_000, true), (1_001, false), (10_000, false)] {
        check(&List { limit: number, ..list() }, is_taken);
        check(&ListUploads { limit: number, ..list_uploads() }, is_taken);
        check(&DeleteMany { keys: vec![Key::from("a"); number.into()] }, is_taken);
    }
    for (number, is_taken) in [(0, false), (1, true), (10_000, true), (10_001, false)] {
        check(&UploadPart { number, ..part() }, is_taken);
        check(&complete(&vec!["tag"; number.into()]), is_taken);
    }
}

#[test]
fn addresses_follow_style_prefix_and_host() {
    let url = |bucket: &Bucket| {
        let get = Get::new(Key::from("a b/c+d"), ByteRange::All, 1);
        get.to_http(bucket, None, THEN).url
    };
    let new = |endpoint, style| Bucket::new(endpoint, style, "logs", "eu-west-1", Dialect::Aws);
    let path = new("http://[::1]:9000", Style::Path).unwrap();
    assert_eq!(url(&path), "http://[::1]:9000/logs/a%20b/c%2Bd");
    let dual = new("https://s3.dualstack.eu-west-1.amazonaws.com", Style::VirtualHost).unwrap();
    assert_eq!(url(&dual), "https://logs.s3.dualstack.eu-west-1.amazonaws.com/a%20b/c%2Bd");
    assert_eq!(url(&path.with_prefix("p/")), "http://[::1]:9000/logs/p/a%20b/c%2Bd");
    for endpoint in ["ftp://store.example", "no url", "http://"] {
        assert!(new(endpoint, Style::Path).is_err(), "{endpoint}");
    }
}

/// Date, key and bucket are those of the example in the documentation of presigned URLs; rusty-s3 tests its signature
/// against it.
#[test]
fn a_signature_has_the_parts_that_version_4_asks_for() {
    let bucket =
        Bucket::new("https://s3.amazonaws.com", Style::VirtualHost, "examplebucket", "us-east-1", Dialect::Aws);
    let keys = SigningKeys::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None);
    let request = Get::new(Key::from("test.txt"), ByteRange::All, 1).to_http(&bucket.unwrap(), Some(&keys), THEN);
    assert!(request.url.starts_with("https://examplebucket.s3.amazonaws.com/test.txt?"));
    for (name, value) in [
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"),
        ("X-Amz-Date", "20130524T000000Z"),
        ("X-Amz-Expires", "900"),
        ("X-Amz-SignedHeaders", "host"),
    ] {
        assert_eq!(parameter(&request, name), Some(value));
    }
    assert_eq!(signature(&request).len(), 64);
}
