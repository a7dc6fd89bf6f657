//! `bucketlog head`: where a partition's log begins and ends, and who owns it.
use crate::args::LogArgs;
use crate::failure::Failure;
use crate::inspect::{HeadReport, head_summary};
use crate::json;
use crate::store::open_log;
use bucketlog_blocking::reader::{Freshness, ReaderOptions};
use bucketlog_core::ids::Partition;
use std::io::Write;

pub(crate) fn run(args: &LogArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let log = open_log(args, false)?;
    let partition = Partition(args.partition);
    let head = log.reader(partition, ReaderOptions::default())?.head(Freshness::Latest)?;
    if args.json {
        // Encoding is canonical: these are the bytes in the store.
        return Ok(json::write_line(out, &HeadReport::new(&head, &head.encode(), args))?);
    }
    let keys = log.keys(partition);
    writeln!(out, "stream {}, partition {partition}: {}", log.stream(), keys.head())?;
    Ok(head_summary(&head, out)?)
}
