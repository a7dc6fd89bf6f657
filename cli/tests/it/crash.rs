//! `kill -9` at random moments: what was reported committed stays, and the log goes on.
use crate::log::{Log, json_lines, number};
use bucketlog_fixtures::servers::seaweedfs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStdin, Stdio};
use std::thread;

/// Kills unless `BUCKETLOG_KILLS` says otherwise.
const KILLS: u64 = 20;
/// The same on a real server, where each takes longer.
const KILLS_OF_A_SERVER: u64 = 5;
/// Lines of stdout waited for at most before a kill.
const MOST_LINES: u64 = 6;
/// Bytes of input at most, where a kill waits for input instead.
const MOST_BYTES: u64 = 1 << 20;

/// A number below `bound`, new with every run; it is printed, though timing decides as much.
fn random(bound: u64) -> u64 {
    RandomState::new().build_hasher().finish() % bound
}

/// Writes numbered records until the process is gone or `limit` bytes are written. Returns the pipe, still open.
fn feed(mut stdin: ChildStdin, round: u64, limit: u64) -> ChildStdin {
    let mut written = 0;
    for k in 0_u64.. {
        let line = record(round, k);
        if written > limit || stdin.write_all(line.as_bytes()).is_err() {
            break;
        }
        written += line.len() as u64;
    }
    stdin
}

fn record(round: u64, k: u64) -> String {
    format!("round {round} record {k}\n")
}

/// Appends until the kill. Returns the last watermark that was printed.
fn append_and_kill(log: &Log, round: u64) -> Option<u64> {
    let mut command = log.command("append");
    let mut child =
        command.arg("--json").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
    let stdin = child.stdin.take().expect("stdin is a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    let mut printed = Vec::new();
    let (lines, bytes) = (random(MOST_LINES), random(MOST_BYTES));
    println!("round {round}: kill after {lines} lines; without lines, after {bytes} bytes of input");
    thread::scope(|scope| {
        let limit = if lines == 0 { bytes } else { u64::MAX };
        let feeder = scope.spawn(move || feed(stdin, round, limit));
        if lines == 0 {
            drop(feeder.join());
        }
        for _ in 0..lines {
            assert_ne!(stdout.read_until(b'\n', &mut printed).expect("stdout"), 0, "append ended by itself");
        }
        child.kill().expect("the process is ours");
    });
    child.wait().expect("the process is ours");
    stdout.read_to_end(&mut printed).expect("stdout");
    // A kill may have cut the last line.
    let whole = printed.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    json_lines(&printed[..whole]).last().map(|line| number(&line["committed_next_lsn"]))
}

/// The records of the round from LSN `start` on are a dense prefix of its input. Returns where the log ends.
fn check_prefix(log: &Log, round: u64, start: u64) -> u64 {
    let read = log.read(&["--from", &start.to_string()]);
    let mut count = 0;
    for line in read.split_inclusive(|byte| *byte == b'\n') {
        assert_eq!(String::from_utf8_lossy(line), record(round, count), "at LSN {}", start + count);
        count += 1;
    }
    assert_eq!(log.next_lsn(), start + count, "every committed record is readable");
    start + count
}

/// Kills one writer after the other; each takes over from the dead one.
fn check(log: &Log, kills: u64) {
    let kills = std::env::var("BUCKETLOG_KILLS").map_or(kills, |kills| kills.parse().expect("a number of kills"));
    let (mut start, mut reported) = (0, 0);
    for round in 0..kills {
        let committed = append_and_kill(log, round).unwrap_or(start);
        reported += committed - start;
        let end = check_prefix(log, round, start);
        assert!(end >= committed, "round {round}: {committed} was reported, the log ends at {end}");
        start = end;
    }
    println!("{start} records survive, {reported} of them reported");
    log.append(&[], b"the log goes on\n").ok();
    assert_eq!(log.read(&["--from", &start.to_string()]), b"the log goes on\n");
}

#[test]
fn every_kill_leaves_a_dense_prefix_with_all_that_was_reported_committed() {
    check(&Log::new(), KILLS);
}

#[test]
fn s3_every_kill_leaves_a_dense_prefix_on_a_real_server() {
    let Some(server) = seaweedfs() else { return };
    check(&Log::in_bucket(&server.endpoint(), "kills"), KILLS_OF_A_SERVER);
}
