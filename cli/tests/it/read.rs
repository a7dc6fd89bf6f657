//! Where reads begin and end, and how they fail.
use crate::golden::{load, objlog, rows, text};
use crate::log::Log;
use crate::run::{bucketlog, run, run_with_input};

/// Ten records, one a second from 2026-04-15T14:23:20Z on, in two segments.
fn ten() -> Log {
    let log = Log::new();
    for i in 0..10 {
        let time = (1_776_263_000_000_i64 + 1_000 * i).to_string();
        log.append(&["--timestamp", &time], format!("record {i}\n").as_bytes()).ok();
    }
    log
}

#[track_caller]
fn check(log: &Log, args: &[&str], expected: std::ops::Range<u64>) {
    let expected = expected.map(|i| format!("record {i}\n")).collect::<Vec<_>>().concat();
    assert_eq!(String::from_utf8_lossy(&log.read(args)), expected, "{args:?}");
}

#[test]
fn reads_begin_at_an_lsn_or_a_time_and_end_at_a_limit() {
    let log = ten();
    check(&log, &[], 0..10);
    check(&log, &["--from", "7"], 7..10);
    check(&log, &["--from", "10"], 0..0);
    check(&log, &["--from", "2", "--limit", "3"], 2..5);
    check(&log, &["--limit", "0"], 0..0);
    check(&log, &["--from-time", "2026-04-15T14:23:23Z"], 3..10);
    check(&log, &["--from-time", "1776263003001", "--limit", "1"], 4..5);
    check(&log, &["--from-time", "2026-04-15T16:23:29+02:00"], 9..10);
    check(&log, &["--from-time", "2030-01-01T00:00:00Z"], 0..0);
    check(&log, &["--from-time", "-1"], 0..10);
}

#[test]
fn json_lines_have_lsn_time_headers_and_value() {
    let log = Log::new();
    log.append(&["--timestamp", "1776263000000"], b"hello\n\xff\n").ok();
    let records = log.records(&[]);
    let expected = serde_json::json!({
        "lsn": "0", "timestamp_ms": 1_776_263_000_000_i64, "headers": [], "value_base64": "aGVsbG8=", "value": "hello"
    });
    assert_eq!(records[0], expected);
    assert_eq!((records[1].get("value"), &records[1]["value_base64"]), (None, &"/w==".into()));
}

#[test]
fn a_position_past_the_end_is_an_error_that_names_the_end() {
    let found = run(ten().command("read").args(["--from", "11", "--json"]));
    assert_eq!(found.code, 1, "{found:?}");
    let error = &found.json()["error"];
    assert_eq!((&error["kind"], &error["next_lsn"]), (&"not_yet".into(), &"10".into()), "{error}");
}

#[test]
fn a_damaged_segment_is_named_and_exits_with_3() {
    let log = ten();
    let segment = log.files(".plseg").into_iter().max().expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("a segment");
    bytes[130] ^= 1;
    std::fs::remove_file(&segment).expect("an owned file");
    std::fs::write(&segment, &bytes).expect("an owned file");
    let found = run(log.command("read").args(["--from", "9", "--json"]));
    assert_eq!(found.code, 3, "{found:?}");
    let error = &found.json()["error"];
    assert_eq!((&error["kind"], &error["section"]), (&"integrity".into(), &"block".into()), "{error}");
    let key = error["key"].as_str().expect("a key");
    assert!(segment.to_string_lossy().ends_with(key), "{key}");
    assert_eq!(log.read(&["--limit", "9"]).len(), 9 * 9);
}

#[test]
fn the_head_is_shown_to_people_and_programs() {
    let log = ten();
    let head = run(log.command("head").arg("--json")).ok().json();
    assert_eq!((&head["next_lsn"], &head["oldest_lsn"]), (&"10".into(), &"0".into()), "{head}");
    assert_eq!((&head["writer_epoch"], &head["segment_count"]), (&"10".into(), &"10".into()), "{head}");
    let stored = std::fs::read(log.files("head.plc").first().expect("a head")).expect("a head");
    let inspected = run_with_input(bucketlog().args(["inspect", "--json", "-"]), &stored).ok().json();
    assert_eq!((&head["sha256"], &head["size"]), (&inspected["sha256"], &inspected["size"]));
    let last = head["last_segment"]["uri"].as_str().expect("a key");
    assert!(last.starts_with("objlog/segments/"), "{last}");
    let table = run(&mut log.command("head")).ok().text();
    assert!(table.contains("stream test/lines, partition 0") && table.contains("LSN 0 to 9"), "{table}");
}

#[test]
fn another_layout_of_keys_is_another_log() {
    let log = Log::new();
    let layout = ["--catalog-prefix", "c", "--data-root", "d/e"];
    log.append(&layout, b"elsewhere\n").ok();
    assert_eq!(log.read(&[]), b"");
    assert_eq!(log.read(&layout), b"elsewhere\n");
    assert!(log.files("head.plc")[0].to_string_lossy().contains("/c/"));
    assert!(log.files(".plseg")[0].to_string_lossy().contains("/d/e/segments/"));
    assert_eq!(log.read(&[&layout[..], &["--partition", "1"]].concat()), b"");
}

#[test]
fn a_store_or_stream_that_is_not_named_or_not_there_is_told_with_what_to_do() {
    let nameless = run(bucketlog().arg("read"));
    assert_eq!(nameless.code, 2, "{nameless:?}");
    assert!(nameless.stderr.contains("--stream"), "{nameless:?}");
    for store in ["file:///no/such/store", "no/such/store"] {
        let missing = run(bucketlog().args(["read", "--stream", "s", "--store", store]));
        assert_eq!(missing.code, 1, "{missing:?}");
        assert!(missing.stderr.contains("no store at /") && missing.stderr.contains("help: "), "{missing:?}");
    }
    let unknown = run(bucketlog().args(["read", "--stream", "s", "--store", "ftp://x"]));
    assert!(unknown.code == 1 && unknown.stderr.contains("unsupported scheme"), "{unknown:?}");
}

#[test]
fn the_environment_can_name_store_and_stream() {
    let log = ten();
    let url = format!("file://{}", log.path().display());
    let read = run(bucketlog()
        .args(["read", "--limit", "1"])
        .env("BUCKETLOG_STORE", url)
        .env("BUCKETLOG_STREAM", "test/lines"));
    assert_eq!(read.ok().stdout, b"record 0\n");
}

#[test]
fn a_position_that_retention_has_passed_is_expired_and_the_oldest_is_named() {
    let Some(folder) = objlog() else { return };
    let catalog = load(&folder, "catalogs/fan1x2-crc32c.json");
    let retained = rows(&catalog["steps"]).iter().rfind(|step| step["op"] == "retention").expect("a retention");
    let store = tempfile::tempdir().expect("a temporary directory");
    let key = store.path().join(text(&catalog["head_key"]));
    std::fs::create_dir_all(key.parent().expect("a folder")).expect("a folder");
    std::fs::copy(folder.join(text(&retained["head"]["file"])), key).expect("a copy");
    let on_catalog = |subcommand: &str| {
        let mut command = bucketlog();
        command.args([subcommand, "--json", "--partition", &catalog["partition"].to_string(), "--store"]);
        command.arg(store.path()).args(["--stream", text(&catalog["stream_id"])]);
        command.args([
            "--catalog-prefix",
            text(&catalog["catalog_prefix"]),
            "--data-root",
            text(&catalog["data_root"]),
        ]);
        command
    };
    let head = run(&mut on_catalog("head")).ok().json();
    assert_eq!(head["sha256"], retained["head"]["sha256"]);
    let found = run(on_catalog("read").args(["--from", "0"]));
    assert_eq!(found.code, 1, "{found:?}");
    let error = &found.json()["error"];
    assert_eq!((&error["kind"], &error["oldest_lsn"]), (&"expired".into(), &retained["head"]["oldest_lsn"]), "{error}");
    let gone = run(&mut on_catalog("read"));
    assert_eq!((gone.code, &gone.json()["error"]["kind"]), (3, &"missing".into()), "its segments are not in the store");
}
