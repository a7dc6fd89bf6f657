//! `bucketlog append`: records from files or stdin into the log.
//!
//! One thread reads input, one splits it and appends, and the calling thread prints the committed watermark as it
//! advances. A signal ends the input; what was read before it becomes durable.
mod append_error;
mod feed;
mod meter;
mod report;
mod split;

use crate::args::{AppendArgs, LogArgs};
use crate::failure::Failure;
use crate::store::open_log;
pub(crate) use append_error::claim_failed;
use append_error::{close_failed, record_refused};
use bucketlog_blocking::writer::{BatchPolicy, Committed, TimestampPolicy, WriterOptions};
use bucketlog_blocking::{Writer, now};
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Epoch, Lsn, Partition, TimestampMs};
use bytes::Bytes;
use feed::{Feed, Input};
use meter::Meter;
use report::Summary;
use split::Splitter;
use std::io::Write;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

/// So long a record waits at most for others to share its segment, when input is slow.
const LINGER: Duration = Duration::from_millis(250);

pub(crate) fn run(args: &AppendArgs, log_args: &LogArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let feed = Feed::open(&args.files)?;
    let splitter = Splitter::new(args.framing.framing());
    let started = Instant::now();
    let log = open_log(log_args, true)?;
    let writer = log.writer(Partition(log_args.partition), options(args)).map_err(claim_failed)?;
    let start = Start::of(&writer);
    let meter = Meter::new(feed.total());
    let committed = writer.committed();
    let input = feed.start()?;
    let appended = thread::scope(|scope| {
        let clock = Stamp::new(args.timestamp);
        let work = Appender { writer, splitter, clock, meter: &meter, start: &start };
        let worker = scope.spawn(move || work.run(input));
        let watched = watch(&committed, start.next_lsn, &meter, log_args.json, out);
        // Records matter more than reports of them: a closed stdout does not end the append.
        let appended = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        watched.map(|()| appended)
    })?;
    meter.finish();
    let next_lsn = committed.get();
    let summary =
        Summary { start, next_lsn, bytes: meter.bytes(), interrupted: appended.interrupted, took: started.elapsed() };
    summary.print(log_args.json, out)
}

fn options(args: &AppendArgs) -> WriterOptions {
    let batch = BatchPolicy { max_age: Some(LINGER), ..BatchPolicy::default() };
    // A clock that was set back must not stop the log; a timestamp that was asked for must not be changed.
    let timestamps = if args.timestamp.is_some() { TimestampPolicy::Reject } else { TimestampPolicy::Clamp };
    WriterOptions { batch, timestamps, ..WriterOptions::default() }
}

/// Where the writer began.
pub(crate) struct Start {
    epoch: Epoch,
    writer_id: String,
    next_lsn: Lsn,
}

impl Start {
    fn of(writer: &Writer) -> Self {
        Self { epoch: writer.epoch(), writer_id: writer.writer_id().to_string(), next_lsn: writer.committed().get() }
    }
}

/// Tells of every advance of the committed watermark until the writer has come to its end.
fn watch(committed: &Committed, start: Lsn, meter: &Meter, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let mut last = start;
    loop {
        // The watermark may have moved once more before the end.
        let (next, ended) = match committed.wait_past(last) {
            Ok(next) => (next, false),
            Err(ended) => (ended.committed, true),
        };
        if next > last {
            meter.committed(next.0 - start.0);
            if json {
                report::print_committed(next, out)?;
            }
            last = next;
        }
        if ended {
            return Ok(());
        }
    }
}

/// What the appending thread owns.
struct Appender<'a> {
    writer: Writer,
    splitter: Splitter,
    clock: Stamp,
    meter: &'a Meter,
    start: &'a Start,
}

struct Appended {
    interrupted: bool,
}

impl Appender<'_> {
    /// Appends everything, then closes the writer. What was accepted before a failure becomes durable all the same.
    fn run(mut self, input: Receiver<Input>) -> Result<Appended, Failure> {
        let outcome = self.append_all(input);
        let closed = self.writer.close();
        match (outcome, closed) {
            (Ok(interrupted), Ok(_)) => Ok(Appended { interrupted }),
            // The writer's end explains why the append failed, and how far records are safe.
            (_, Err(error)) => Err(close_failed(&error, self.start)),
            (Err(failure), Ok(next_lsn)) => {
                let before = next_lsn.0 - self.start.next_lsn.0;
                let extent = format!(
                    "; the {before} records before it are safe, below LSN {next_lsn}, those after it not appended"
                );
                Err(failure.and(&extent).with("committed_next_lsn", next_lsn.to_string()))
            }
        }
    }

    /// Whether a signal ended the input.
    fn append_all(&mut self, input: Receiver<Input>) -> Result<bool, Failure> {
        for piece in input {
            match piece {
                Input::Chunk(chunk) => {
                    self.meter.read(chunk.len() as u64);
                    self.splitter.feed(chunk);
                    while let Some(value) = self.splitter.next_record()? {
                        self.append(value)?;
                    }
                }
                Input::EndOfSource => {
                    if let Some(value) = self.splitter.end_source()? {
                        self.append(value)?;
                    }
                }
                Input::Failed(failure) => return Err(failure),
                Input::End => break,
                Input::Interrupted => return Ok(true),
            }
        }
        Ok(false)
    }

    fn append(&mut self, value: Bytes) -> Result<(), Failure> {
        let record = Record::new(self.clock.next(), value);
        match self.writer.append(record) {
            Ok(_) => {
                self.meter.accepted();
                Ok(())
            }
            Err(error) => Err(record_refused(&error, self.meter.records())),
        }
    }
}

/// Timestamps of new records.
struct Stamp {
    fixed: Option<TimestampMs>,
    last: TimestampMs,
}

impl Stamp {
    fn new(fixed: Option<TimestampMs>) -> Self {
        Self { fixed, last: TimestampMs(i64::MIN) }
    }

    /// The time, never before the last one's.
    fn next(&mut self) -> TimestampMs {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        self.last = self.last.max(now());
        self.last
    }
}
