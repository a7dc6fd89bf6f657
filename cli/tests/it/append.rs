//! What goes in by `append` comes out by `read`.
use crate::log::{Log, json_lines, number};
use crate::run::run;

/// Appends the input and reads it back with the same options.
#[track_caller]
fn check_round_trip(append: &[&str], read: &[&str], input: &[u8]) {
    let log = Log::new();
    log.append(append, input).ok();
    assert_eq!(log.read(read).escape_ascii().to_string(), input.escape_ascii().to_string(), "{append:?}");
}

#[test]
fn lines_come_back_as_they_were() {
    check_round_trip(&[], &[], b"one\n\ntwo \xff\r\n");
    check_round_trip(&[], &[], b"");
    check_round_trip(&[], &[], b"\n");
}

#[test]
fn a_missing_last_newline_is_added_unless_records_are_joined() {
    let log = Log::new();
    log.append(&[], b"one\ntwo").ok();
    assert_eq!(log.read(&[]), b"one\ntwo\n");
    assert_eq!(log.read(&["--join"]), b"one\ntwo");
}

#[test]
fn other_delimiters_and_lengths_carry_any_bytes() {
    check_round_trip(&["--delimiter", "\\0"], &["--delimiter", "\\0"], b"a\nb\0\0c\0");
    check_round_trip(&["--delimiter", "\\x1e--"], &["--delimiter", "\\x1e--"], b"a-\x1e-b\x1e--\x1e--");
    check_round_trip(&["--length-prefixed"], &["--length-prefixed"], b"\0\0\0\x03a\nb\0\0\0\0\0\0\0\x01\0");
}

#[test]
fn files_are_appended_in_order_and_each_ends_its_last_record() {
    let log = Log::new();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    std::fs::write(&first, "1\n2").expect("a file");
    std::fs::write(&second, "3\n").expect("a file");
    run(log.command("append").arg(&first).arg("-").arg(&second)).ok();
    assert_eq!(log.read(&[]), b"1\n2\n3\n");
}

#[test]
fn a_missing_file_is_told_before_anything_is_appended() {
    let log = Log::new();
    let found = log.append(&["-", "no/such/file"], b"one\n");
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.stderr.contains("can't read no/such/file"), "{found:?}");
    assert_eq!(log.read(&[]), b"");
}

#[test]
fn json_tells_each_advance_of_the_committed_watermark_and_ends_with_a_summary() {
    let log = Log::new();
    log.append(&[], b"before\n").ok();
    let input = "x\n".repeat(40_000);
    let lines = json_lines(&log.append(&["--json"], input.as_bytes()).ok().stdout);
    let (last, advances) = lines.split_last().expect("lines");
    let marks: Vec<u64> = advances.iter().map(|line| number(&line["committed_next_lsn"])).collect();
    assert!(marks.is_sorted_by(|a, b| a < b), "{marks:?}");
    assert_eq!(marks.last(), Some(&40_001), "{marks:?}");
    let summary = &last["summary"];
    assert_eq!((number(&summary["first_lsn"]), number(&summary["next_lsn"])), (1, 40_001), "{summary}");
    assert_eq!((&summary["records"], &summary["input_bytes"]), (&40_000.into(), &80_000.into()), "{summary}");
    assert_eq!((number(&summary["epoch"]), &summary["interrupted"]), (2, &false.into()), "{summary}");
}

#[test]
fn people_get_one_line_and_no_progress_bar_in_a_pipe() {
    let found = Log::new().append(&[], b"a\nb\n").ok();
    assert!(found.text().starts_with("appended 2 records of 4 B as LSN 0 to 1 in "), "{found:?}");
    assert_eq!((found.text().lines().count(), found.stderr.as_str()), (1, ""), "{found:?}");
}

#[test]
fn timestamps_can_be_given_and_never_go_back() {
    let log = Log::new();
    log.append(&["--timestamp", "2026-04-15T14:23:20Z"], b"a\n").ok();
    log.append(&["--timestamp", "1776263000000"], b"b\n").ok();
    let times: Vec<_> = log.records(&[]).iter().map(|record| record["timestamp_ms"].as_i64()).collect();
    assert_eq!(times, [Some(1_776_263_000_000), Some(1_776_263_000_000)]);
    let found = log.append(&["--timestamp", "1776262999999", "--json"], b"c\n");
    assert_eq!((found.code, &found.json()["error"]["kind"]), (1, &"timestamp_order".into()), "{found:?}");
    assert_eq!(log.next_lsn(), 2);
}

#[test]
fn a_record_that_is_too_long_ends_the_append_and_leaves_those_before_it() {
    let log = Log::new();
    let input = [&b"good\n"[..], &vec![b'x'; (4 << 20) + 1], b"\nnever read\n"].concat();
    let found = log.append(&[], &input);
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.stderr.contains("more than 4194304 bytes"), "{found:?}");
    assert_eq!(log.read(&[]), b"good\n");
}
