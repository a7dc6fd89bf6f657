//! `bucketlog read`: records of a partition, in order.
use crate::args::{LogArgs, ReadArgs};
use crate::failure::Failure;
use crate::framing::Framing;
use crate::json::{RecordRow, write_line};
use crate::store::open_log;
use bucketlog_blocking::Reader;
use bucketlog_blocking::error::ReadError;
use bucketlog_blocking::reader::{Freshness, ReadLimit, ReaderOptions};
use bucketlog_core::format::catalog::Head;
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, Partition};
use serde::Serialize;
use std::io::{self, Write};

/// Records of one batch at most.
const BATCH: u32 = 16_384;

pub(crate) fn run(args: &ReadArgs, log_args: &LogArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let log = open_log(log_args, false)?;
    let reader = log.reader(Partition(log_args.partition), ReaderOptions::default())?;
    // What is committed now is what gets read, however fast a writer goes on.
    let head = reader.head(Freshness::Latest)?;
    let Some(from) = start(args, &reader, &head)? else { return Ok(()) };
    let end = match args.limit {
        Some(limit) => head.next_lsn.min(Lsn(from.0.saturating_add(limit))),
        None => head.next_lsn,
    };
    let mut printer = Printer::new(args, log_args.json);
    let mut next = from;
    while next < end {
        let left = u32::try_from(end.0 - next.0).unwrap_or(u32::MAX);
        let batch = reader.read(next, ReadLimit::records(left.min(BATCH)), Freshness::Cached)?;
        for (lsn, record) in &batch.records {
            printer.print(*lsn, record, out)?;
        }
        next = batch.next_lsn;
    }
    Ok(())
}

/// Where to begin; `None` when no record is as late as the time asked for.
fn start(args: &ReadArgs, reader: &Reader, head: &Head) -> Result<Option<Lsn>, Failure> {
    if let Some(time) = args.from_time {
        return Ok(reader.find_timestamp(time)?);
    }
    let requested = args.from.map_or(head.oldest_lsn, Lsn);
    let (oldest, next) = (head.oldest_lsn, head.next_lsn);
    if requested > next {
        return Err(ReadError::NotYet { requested, next }.into());
    }
    if requested < oldest {
        return Err(ReadError::Expired { requested, oldest, next }.into());
    }
    Ok(Some(requested))
}

/// Writes records one after another.
enum Printer {
    Json,
    /// Each record with a delimiter after it.
    After(Vec<u8>),
    /// A delimiter between records only; empty before the first.
    Between {
        delimiter: Vec<u8>,
        started: bool,
    },
    LengthPrefixed,
}

#[derive(Serialize)]
struct RecordLine<'a> {
    #[serde(flatten)]
    record: RecordRow,
    /// For reading; `value_base64` is always there.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
}

impl Printer {
    fn new(args: &ReadArgs, json: bool) -> Self {
        match args.framing.framing() {
            _ if json => Self::Json,
            Framing::LengthPrefixed => Self::LengthPrefixed,
            Framing::Delimited(delimiter) if args.join => Self::Between { delimiter, started: false },
            Framing::Delimited(delimiter) => Self::After(delimiter),
        }
    }

    fn print(&mut self, lsn: Lsn, record: &Record, out: &mut dyn Write) -> io::Result<()> {
        let value = &record.value;
        match self {
            Self::Json => {
                let line = RecordLine { record: RecordRow::of(lsn, record), value: str::from_utf8(value).ok() };
                write_line(out, &line)
            }
            Self::After(delimiter) => {
                out.write_all(value)?;
                out.write_all(delimiter)
            }
            Self::Between { delimiter, started } => {
                if *started {
                    out.write_all(delimiter)?;
                }
                *started = true;
                out.write_all(value)
            }
            Self::LengthPrefixed => {
                // The format allows 4 MiB.
                let len = u32::try_from(value.len()).unwrap_or(u32::MAX);
                out.write_all(&len.to_be_bytes())?;
                out.write_all(value)
            }
        }
    }
}
