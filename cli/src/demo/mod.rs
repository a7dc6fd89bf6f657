//! `bucketlog demo`: one narrated cycle on a fresh directory. Each phase is a function in `PHASES`.
mod phases;

use crate::args::DemoArgs;
use crate::failure::Failure;
use bucketlog_blocking::reader::ReaderOptions;
use bucketlog_blocking::store::{LocalDir, Store};
use bucketlog_blocking::{Log, LogOptions, Reader, Writer};
use bucketlog_core::format::keys::StreamId;
use bucketlog_core::ids::Partition;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The stream that the demo writes.
const STREAM: &str = "demo/orders";
const PARTITION: Partition = Partition(0);

struct Phase {
    title: &'static str,
    run: fn(&mut Stage<'_>) -> Result<(), Failure>,
}

/// In the order they are played; each may rest on what those before it left on the stage.
const PHASES: &[Phase] = &[
    Phase { title: "Write", run: phases::write },
    Phase { title: "Read from an LSN", run: phases::read_by_lsn },
    Phase { title: "Read from a time", run: phases::read_by_time },
    Phase { title: "Fetch one record", run: phases::fetch },
    Phase { title: "Take the log over", run: phases::take_over },
    Phase { title: "What lies in the store", run: phases::list },
];

/// What the phases share.
struct Stage<'a> {
    store: Arc<dyn Store>,
    log: Log,
    reader: Reader,
    /// Whoever owns the log, or believes to.
    writer: Option<Writer>,
    out: &'a mut dyn Write,
}

pub(crate) fn run(args: &DemoArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let directory = fresh_directory(args.directory.as_deref())?;
    let store: Arc<dyn Store> = Arc::new(LocalDir::open(&directory).map_err(|error| unusable(&directory, &error))?);
    let stream = StreamId::new(STREAM).map_err(|error| Failure::new("demo", error.to_string(), "report this"))?;
    let log = Log::open(Arc::clone(&store), stream, LogOptions::default());
    let reader = log.reader(PARTITION, ReaderOptions::default())?;
    let mut stage = Stage { store, log, reader, writer: None, out };
    writeln!(stage.out, "A log of the stream {STREAM}, partition {PARTITION}, in {}", directory.display())?;
    for (number, phase) in (1..).zip(PHASES) {
        writeln!(stage.out, "\n── {number}. {} ──", phase.title)?;
        (phase.run)(&mut stage)?;
        stage.out.flush()?;
    }
    writeln!(stage.out, "\nIt is all still there. Look around, and remove the directory when you are done:")?;
    let store = format!("--store {} --stream {STREAM}", directory.display());
    writeln!(stage.out, "  bucketlog {store} head\n  bucketlog {store} read --limit 3")?;
    Ok(writeln!(stage.out, "  rm -r {}", directory.display())?)
}

/// The demo shows an empty store filling up, so it takes no directory with something in it.
fn fresh_directory(chosen: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(directory) = chosen else {
        let made = tempfile::Builder::new().prefix("bucketlog-demo-").tempdir();
        return Ok(made.map_err(|error| unusable(&std::env::temp_dir(), &error))?.keep());
    };
    std::fs::create_dir_all(directory).map_err(|error| unusable(directory, &error))?;
    let mut entries = std::fs::read_dir(directory).map_err(|error| unusable(directory, &error))?;
    if entries.next().is_some() {
        let what = format!("{} is not empty", directory.display());
        return Err(Failure::new("directory", what, "name a new or empty directory, or none for a temporary one"));
    }
    Ok(directory.to_owned())
}

fn unusable(directory: &Path, error: &io::Error) -> Failure {
    let what = format!("can't use {}: {error}", directory.display());
    Failure::new("directory", what, "name a directory that you may write")
}
