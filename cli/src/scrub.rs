//! `bucketlog scrub`: what writers left behind.
use crate::args::{LogArgs, ScrubArgs};
use crate::failure::Failure;
use crate::json;
use crate::show::{table, time};
use crate::store::{open, open_log};
use bucketlog_blocking::Partition;
use bucketlog_blocking::scrub::{Kind, Orphan, ScrubError, ScrubOptions, ScrubReport, scrub};
use indicatif::{HumanBytes, ProgressBar};
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

pub(crate) fn run(args: &ScrubArgs, log: &LogArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (store, keys) = (open(log, false)?, open_log(log, false)?.keys(Partition(log.partition)));
    let options = ScrubOptions { grace: args.grace, delete: args.delete };
    let bar = ProgressBar::new_spinner().with_message("looking for orphans");
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    let (mut rows, mut printed) = (Vec::new(), Ok(()));
    let report = scrub(&*store, &keys, &options, |orphan| {
        bar.inc(1);
        if log.json {
            printed = std::mem::replace(&mut printed, Ok(())).and_then(|()| json::write_line(out, &Line::new(orphan)));
        } else {
            rows.push(orphan.clone());
        }
    });
    bar.finish_and_clear();
    printed?;
    let report = report.map_err(|error| failure(&error))?;
    if log.json {
        json::write_line(out, &Summary::new(&report))?;
    } else {
        print(&rows, &report, args.delete, out)?;
    }
    Ok(())
}

fn failure(error: &ScrubError) -> Failure {
    let (kind, help) = match error {
        ScrubError::NoHead { .. } => ("no_head", "check --stream and --partition; a log that nobody wrote has no head"),
        ScrubError::Store { .. } => {
            ("store", "see what the store said; scrubbing takes the permissions to list and to delete")
        }
        _ => ("damaged", "nothing was called an orphan; look at the object with `bucketlog inspect`"),
    };
    Failure::new(kind, error.to_string(), help)
}

fn print(rows: &[Orphan], report: &ScrubReport, deletes: bool, out: &mut dyn Write) -> io::Result<()> {
    if !rows.is_empty() {
        let mut lines = table(&["orphan", "size", "since", "epoch", "key"]);
        for orphan in rows {
            let size = orphan.size.map_or_else(|| "unknown".to_owned(), |size| HumanBytes(size).to_string());
            lines.add_row([
                name(orphan.kind),
                &size,
                &time(orphan.since),
                &orphan.epoch.to_string(),
                orphan.key.as_str(),
            ]);
        }
        writeln!(out, "{lines}\n")?;
    }
    let ScrubReport { examined, orphans, orphan_bytes, deleted, young, pending, expired, unknown } = report;
    writeln!(out, "{examined} examined, {orphans} orphans of {}, {deleted} deleted", HumanBytes(*orphan_bytes))?;
    writeln!(
        out,
        "left alone: {young} younger than the grace, {pending} that may be committed yet, {expired} passed by retention, {unknown} unknown"
    )?;
    if *orphans > 0 && !deletes {
        writeln!(out, "nothing was changed; the same with --delete deletes the orphans")?;
    }
    Ok(())
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Segment => "segment",
        Kind::Upload => "upload",
    }
}

#[derive(Serialize)]
struct Line<'a> {
    orphan: &'static str,
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<String>,
    since_ms: i64,
    epoch: String,
}

impl<'a> Line<'a> {
    fn new(orphan: &'a Orphan) -> Self {
        let Orphan { kind, key, size, since, epoch } = orphan;
        let size = size.map(|size| size.to_string());
        Self { orphan: name(*kind), key: key.as_str(), size, since_ms: since.0, epoch: epoch.to_string() }
    }
}

#[derive(Serialize)]
struct Summary {
    examined: String,
    orphans: String,
    orphan_bytes: String,
    deleted: String,
    young: String,
    pending: String,
    expired: String,
    unknown: String,
}

impl Summary {
    fn new(report: &ScrubReport) -> Self {
        Self {
            examined: report.examined.to_string(),
            orphans: report.orphans.to_string(),
            orphan_bytes: report.orphan_bytes.to_string(),
            deleted: report.deleted.to_string(),
            young: report.young.to_string(),
            pending: report.pending.to_string(),
            expired: report.expired.to_string(),
            unknown: report.unknown.to_string(),
        }
    }
}
