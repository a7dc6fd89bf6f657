//! What `append` prints.
use super::Start;
use crate::failure::Failure;
use crate::json::{Text, write_line};
use crate::show::{Bytes, Count, span};
use bucketlog_core::ids::{Epoch, Lsn};
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

#[derive(Serialize)]
struct CommittedLine {
    committed_next_lsn: Text<Lsn>,
}

/// One line, at once: whoever reads it may rely on the records below.
pub(super) fn print_committed(next_lsn: Lsn, out: &mut dyn Write) -> io::Result<()> {
    write_line(out, &CommittedLine { committed_next_lsn: Text(next_lsn) })?;
    out.flush()
}

/// An append that did everything it was asked to.
pub(super) struct Summary {
    pub(super) start: Start,
    pub(super) next_lsn: Lsn,
    pub(super) bytes: u64,
    pub(super) interrupted: bool,
    pub(super) took: Duration,
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    summary: SummaryRow<'a>,
}

#[derive(Serialize)]
struct SummaryRow<'a> {
    first_lsn: Text<Lsn>,
    next_lsn: Text<Lsn>,
    records: u64,
    input_bytes: u64,
    seconds: f64,
    interrupted: bool,
    epoch: Text<Epoch>,
    writer_id: &'a str,
}

impl Summary {
    pub(super) fn print(&self, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
        let records = self.next_lsn.0 - self.start.next_lsn.0;
        if json {
            let summary = SummaryRow {
                first_lsn: Text(self.start.next_lsn),
                next_lsn: Text(self.next_lsn),
                records,
                input_bytes: self.bytes,
                seconds: self.took.as_secs_f64(),
                interrupted: self.interrupted,
                epoch: Text(self.start.epoch),
                writer_id: &self.start.writer_id,
            };
            return Ok(write_line(out, &SummaryLine { summary })?);
        }
        Ok(self.print_text(records, out)?)
    }

    fn print_text(&self, records: u64, out: &mut dyn Write) -> io::Result<()> {
        let ending = if self.interrupted { "stopped by a signal; " } else { "" };
        if records == 0 {
            return writeln!(out, "{ending}nothing to append; the next LSN is {}", self.next_lsn);
        }
        let lsns = span(self.start.next_lsn, self.next_lsn.0 - 1);
        let (count, bytes, seconds) = (Count(records), Bytes(self.bytes), self.took.as_secs_f64());
        writeln!(out, "{ending}appended {count} records of {bytes} as LSN {lsns} in {seconds:.2} s, all durable")
    }
}
