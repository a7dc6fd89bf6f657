//! The command line.
use crate::framing::FramingArgs;
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::ids::{Partition, TimestampMs};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Durable append-only logs in an object-store bucket.
#[derive(Debug, Parser)]
#[command(name = "bucketlog", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which log, and how results are printed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// Store: s3://bucket/prefix, file:///directory, or the path of one; by default ./bucketlog-data
    #[arg(long, global = true, env = "BUCKETLOG_STORE", value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Stream: text in non-empty parts between slashes, such as `tenant/events`
    #[arg(long, global = true, env = "BUCKETLOG_STREAM", value_name = "ID")]
    pub(crate) stream: Option<StreamId>,
    /// Partition of the stream
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub(crate) partition: u32,
    /// What the keys of heads and pages start with
    #[arg(long, global = true, value_name = "PREFIX", default_value = LogKeys::DEFAULT_CATALOG_PREFIX)]
    pub(crate) catalog_prefix: String,
    /// What the keys of segments start with
    #[arg(long, global = true, value_name = "PREFIX", default_value = LogKeys::DEFAULT_DATA_ROOT)]
    pub(crate) data_root: String,
    /// Print JSON for programs instead of text for people: append, read, head, inspect, doctor, scrub, and every failure
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
}

impl LogArgs {
    /// The keys of a partition of `stream`.
    pub(crate) fn keys_of(&self, stream: &StreamId, partition: Partition) -> LogKeys {
        LogKeys::with_prefixes(&self.catalog_prefix, &self.data_root, stream, partition)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play one cycle on a fresh directory, with explanations: write, read, take over
    Demo(DemoArgs),
    /// Append records from files or stdin
    Append(AppendArgs),
    /// Read records, from the oldest to the last that is committed now
    Read(ReadArgs),
    /// Show where the log begins and ends, and who owns it
    Head,
    /// Check one object to the last byte and print what it says
    Inspect(InspectArgs),
    /// Try on scratch objects whether a store does what a log relies on
    Doctor(DoctorArgs),
    /// Find segments and uploads that writers left behind when they were fenced or killed, and delete them if told to
    Scrub(ScrubArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a manual page in roff, for `man -l -`
    Man(ManArgs),
}

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// A new or empty directory; by default a temporary one, which stays
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct AppendArgs {
    /// Files of records; none, or `-`, reads stdin
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) framing: FramingArgs,
    /// Timestamp of every record: RFC 3339, or milliseconds since 1970; by default the time it is read
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) timestamp: Option<TimestampMs>,
}

#[derive(Args, Debug)]
pub(crate) struct ReadArgs {
    /// First record by LSN; by default the oldest
    #[arg(long, value_name = "LSN", conflicts_with = "from_time")]
    pub(crate) from: Option<u64>,
    /// First record whose timestamp is this or later: RFC 3339, or milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) from_time: Option<TimestampMs>,
    /// At most so many records
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) framing: FramingArgs,
    /// Put the delimiter between records only, not after the last: exact for a file without a last newline
    #[arg(long, conflicts_with = "length_prefixed")]
    pub(crate) join: bool,
}

#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// A segment, head or page; recognised by its content. `-` reads stdin
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin")]
    pub(crate) file: Option<PathBuf>,
    /// Read the object from stdin
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Also print every record of a segment
    #[arg(long)]
    pub(crate) records: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Race 8 writers 5 times instead of 32 writers 20 times
    #[arg(long)]
    pub(crate) quick: bool,
    /// What the keys of the scratch objects start with; they are deleted at the end
    #[arg(long, value_name = "PREFIX", default_value = "bucketlog-doctor")]
    pub(crate) scratch: String,
}

#[derive(Args, Debug)]
pub(crate) struct ScrubArgs {
    /// Delete what is found; without it nothing changes
    #[arg(long)]
    pub(crate) delete: bool,
    /// Leave alone what was stored later than so long ago, by the store's clock
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = parse_duration)]
    pub(crate) grace: Duration,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The page of this subcommand instead of the main page
    pub(crate) subcommand: Option<String>,
}

/// `24h`, `90m`, `1h 30m` and the like.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = text.parse::<jiff::SignedDuration>().ok().and_then(|signed| Duration::try_from(signed).ok());
    duration.ok_or_else(|| "give a duration such as 24h, 90m or 30s".to_owned())
}

/// RFC 3339 with an offset, or milliseconds since 1970.
fn parse_time(text: &str) -> Result<TimestampMs, String> {
    if let Ok(milliseconds) = text.parse() {
        return Ok(TimestampMs(milliseconds));
    }
    match text.parse::<jiff::Timestamp>() {
        Ok(time) => Ok(TimestampMs(time.as_millisecond())),
        Err(_) => Err("give RFC 3339 such as 2026-04-15T14:23:20Z, or milliseconds since 1970".to_owned()),
    }
}
