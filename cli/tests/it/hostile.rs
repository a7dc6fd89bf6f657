//! Wrong, strange and unlucky use: what happened and what to do is told, and nothing is lost silently.
use crate::log::{Log, number};
use crate::run::{Finished, bucketlog, run, run_with_input};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

/// One line that says what happened and one that says what to do, with this exit code and these words.
#[track_caller]
fn check(found: &Finished, code: i32, words: &str) {
    assert_eq!((found.code, found.stdout.len()), (code, 0), "{found:?}");
    let lines: Vec<&str> = found.stderr.lines().collect();
    assert!(
        matches!(lines[..], [what, help] if what.starts_with("error: ") && help.starts_with(" help: ")),
        "{found:?}"
    );
    assert!(lines[0].contains(words), "{words:?} in {found:?}");
}

fn on_store(store: &str) -> Finished {
    run_with_input(bucketlog().args(["append", "--stream", "s", "--store", store]), b"precious\n")
}

#[test]
fn a_store_that_keeps_nothing_is_refused() {
    check(&on_store("memory:"), 2, "would be gone when this command ends");
}

#[test]
fn a_store_url_with_a_host_or_nothing_in_it_is_no_directory() {
    for store in ["file://data", "file://"] {
        check(&on_store(store), 2, "three slashes");
    }
    check(&on_store(""), 2, "can't use ``");
    assert!(!Path::new("data").exists());
}

#[test]
fn a_file_in_the_place_of_the_store_is_told() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    check(&on_store(&file.path().to_string_lossy()), 1, "not a directory");
    check(&on_store(&file.path().join("below").to_string_lossy()), 1, "can't open the directory");
}

#[test]
fn programs_get_wrong_usage_as_json_too() {
    for args in [&["--limit", "x"][..], &["--from", "1", "--from-time", "1"], &["--partition", "4294967296"], &["--no"]]
    {
        let found = run(bucketlog().args(["read", "--json"]).args(args));
        assert_eq!((found.code, found.stderr.as_str()), (2, ""), "{found:?}");
        let report = found.json();
        let detail = report["error"]["detail"].as_str().expect("a detail");
        assert!(report["error"]["kind"] == "usage" && detail.contains(args[0]), "{report}");
    }
    let help = run(bucketlog().args(["read", "--json", "--help"])).ok();
    assert!(help.text().contains("--from-time"), "{help:?}");
}

#[test]
fn times_that_are_neither_rfc_3339_nor_milliseconds_are_refused() {
    for time in ["", "yesterday", "2026-04-15", "2026-04-15T14:23:20", "1e9", "1.5", "99999999999999999999"] {
        let found = run(Log::new().command("read").args(["--from-time", time]));
        assert_eq!(found.code, 2, "{time}: {found:?}");
        assert!(found.stderr.contains("give RFC 3339 such as"), "{time}: {found:?}");
    }
}

#[test]
fn the_widest_numbers_are_numbers() {
    let log = Log::new();
    log.append(&["--partition", "4294967295"], b"last partition\n").ok();
    let read = log.read(&["--partition", "4294967295", "--limit", "18446744073709551615"]);
    assert_eq!(read, b"last partition\n");
    for time in ["-9223372036854775808", "9223372036854775807"] {
        log.append(&["--timestamp", time], b"x\n").ok();
    }
    assert_eq!(log.read(&["--from-time", "-9223372036854775808"]), b"x\nx\n");
    assert_eq!(log.read(&["--from-time", "9223372036854775807"]), b"x\n");
    check(&run(log.command("read").args(["--from", "18446744073709551615"])), 1, "not written yet");
}

#[test]
fn input_that_breaks_off_tells_how_much_of_it_is_safe() {
    let log = Log::new();
    let prefixed = [b"\0\0\0\x03abc\0\0\0\x05ab".as_slice(), b"\0\0\0\x03abc\0\0", b"\0\0\0\x03abc\xff\xff\xff\xffabc"];
    for (input, safe) in prefixed.into_iter().zip(1..) {
        check(
            &log.append(&["--length-prefixed"], input),
            1,
            &format!("the 1 records before it are safe, below LSN {safe}"),
        );
    }
    assert_eq!(log.read(&[]), b"abc\nabc\nabc\n");
    let long = [&b"a\nb\n"[..], &vec![b'x'; 5 << 20], b"\nc\n"].concat();
    check(&log.append(&[], &long), 1, "the 2 records before it are safe, below LSN 5, those after it not appended");
    let found = log.append(&["--json"], &long);
    assert_eq!(
        number(&crate::log::json_lines(&found.stdout).last().expect("a line")["error"]["committed_next_lsn"]),
        7
    );
}

#[test]
fn a_directory_on_stdin_or_as_a_file_is_told() {
    let log = Log::new();
    let folder = std::fs::File::open(log.path()).expect("a folder");
    let found = run(log.command("append").stdin(folder));
    check(&found, 1, "can't read stdin");
    check(&run(log.command("append").arg(log.path())), 1, "can't read /");
    check(&run(bucketlog().arg("inspect").arg(log.path())), 1, "can't read /");
}

#[test]
fn a_full_disk_behind_stdout_is_an_error() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let log = Log::new();
    log.append(&[], b"x\n").ok();
    let child = log.command("read").stdout(full).stderr(Stdio::piped()).spawn().expect("the binary starts");
    check(&child.wait_with_output().expect("the binary ends").into(), 1, "can't write the output");
}

#[test]
fn a_reader_of_stdout_may_go_away() {
    let log = Log::new();
    let mut append = log.command("append");
    append.arg("--json").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = append.spawn().expect("the binary starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    stdin.write_all("a line of text\n".repeat(50_000).as_bytes()).expect("the input is read to its end");
    drop(stdin);
    let appended: Finished = child.wait_with_output().expect("the binary ends").into();
    assert_eq!((appended.code, appended.stderr.as_str()), (0, ""), "{appended:?}");
    assert_eq!(log.next_lsn(), 50_000, "the append finished its input");

    let mut child =
        log.command("read").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    drop(child.stdout.take());
    let read: Finished = child.wait_with_output().expect("the binary ends").into();
    assert_eq!((read.code, read.stderr.as_str()), (0, ""), "{read:?}");
}

#[test]
fn the_head_of_a_long_log_is_as_short_as_that_of_a_new_one() {
    let log = Log::new();
    let lines = |log: &Log| run(&mut log.command("head")).ok().text();
    log.append(&[], b"1\n").ok();
    let new = lines(&log).lines().count();
    for _ in 0..9 {
        log.append(&[], b"x\n").ok();
    }
    let shown = lines(&log);
    assert_eq!(shown.lines().count(), new, "{shown}");
    for part in ["10 readable, 10 ever", "10 segments not in a page yet, 0 pages", "Last segment", "9 to 9"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let whole = run(bucketlog().arg("inspect").args(log.files("head.plc"))).ok().text();
    assert!(whole.contains("Active segments") && whole.lines().count() > new + 10, "{whole}");
}
