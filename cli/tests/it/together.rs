//! Several processes on one partition.
use crate::log::{Log, number};
use crate::run::{Finished, run};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An `append --json` that runs beside the test.
struct Appending {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Appending {
    fn start(log: &Log, args: &[&str]) -> Self {
        let mut command = log.command("append");
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        Self { child, stdin, stdout }
    }

    fn write(&mut self, lines: &str) {
        self.stdin.write_all(lines.as_bytes()).expect("the process reads");
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("stdout");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
    }

    /// Waits until this watermark is printed.
    fn wait_for(&mut self, committed: u64) {
        while number(&self.line()["committed_next_lsn"]) < committed {}
    }

    /// Closes the input and waits for the end; stdout is what was not read before.
    fn finish(self) -> Finished {
        let Self { child, stdin, mut stdout } = self;
        drop(stdin);
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).expect("stdout");
        let output = child.wait_with_output().expect("the process ends");
        Finished { stdout: rest, ..output.into() }
    }
}

fn lines(range: std::ops::Range<u64>) -> String {
    range.map(|i| format!("line {i}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn a_second_process_reads_a_dense_prefix_while_the_first_appends() {
    let log = Log::new();
    let mut writer = Appending::start(&log, &["--json"]);
    for step in 1..=5 {
        writer.write(&lines((step - 1) * 1_000..step * 1_000));
        writer.wait_for(step * 1_000);
        assert_eq!(String::from_utf8(log.read(&[])).expect("text"), lines(0..step * 1_000));
    }
    writer.finish().ok();
}

/// Two writers on one partition. Returns the log, what the newer one said of itself, and how the older one ended.
fn fence(args: &[&str]) -> (Log, Value, Finished) {
    let log = Log::new();
    let mut older = Appending::start(&log, args);
    older.write(&lines(0..100));
    if args.contains(&"--json") {
        older.wait_for(100);
    } else {
        // Without reports, its commit shows in the log itself.
        while log.files("head.plc").is_empty() || log.next_lsn() < 100 {}
    }
    let newer = log.append(&["--json"], b"from the newer one\n").ok();
    let summary = newer.text().lines().last().map(|line| serde_json::from_str(line).expect("JSON"));
    let summary: Value = summary.expect("a summary");
    older.write("too late\n");
    let ended = older.finish();
    (log, summary["summary"].clone(), ended)
}

#[test]
fn the_older_of_two_writers_is_refused_and_told_who_took_over() {
    let (log, newer, older) = fence(&["--json"]);
    assert_eq!((older.code, number(&newer["epoch"])), (1, 2), "{older:?}");
    let error = &older.json()["error"];
    assert_eq!(error["kind"], "fenced", "{error}");
    assert_eq!((&error["epoch"], &error["writer_id"]), (&newer["epoch"], &newer["writer_id"]), "{error}");
    assert_eq!(error["committed_next_lsn"], "100", "{error}");
    assert_eq!(String::from_utf8(log.read(&[])).expect("text"), lines(0..100) + "from the newer one\n");
}

#[test]
fn a_fenced_writer_tells_people_who_took_over_and_how_far_records_are_safe() {
    let (_, newer, older) = fence(&[]);
    assert_eq!(older.code, 1, "{older:?}");
    let writer = newer["writer_id"].as_str().expect("an id");
    assert!(older.stderr.contains(&format!("writer {writer} took the log over at epoch 2")), "{older:?}");
    assert!(older.stderr.contains("the first 100 records of the input are safe, below LSN 100"), "{older:?}");
    assert!(older.stderr.contains(" help: "), "{older:?}");
}

#[test]
fn a_signal_ends_the_input_and_what_was_read_becomes_durable() {
    let log = Log::new();
    let mut writer = Appending::start(&log, &["--json"]);
    writer.write("one\ntwo\nunfinished");
    writer.wait_for(2);
    run(Command::new("kill").arg("-TERM").arg(writer.child.id().to_string())).ok();
    let summary = writer.line();
    assert_eq!(summary["summary"]["interrupted"], true, "{summary}");
    let ended = writer.child.wait().expect("the process ends");
    assert!(ended.success(), "{ended}");
    assert_eq!(log.read(&[]), b"one\ntwo\n");
}
