//! Reads input on a thread of its own, so that a signal is heard while a read waits.
use crate::failure::Failure;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes asked for at once.
const CHUNK: usize = 256 << 10;
/// Chunks read ahead.
const AHEAD: usize = 8;
/// What shells report for a process that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// A piece of the input.
pub(super) enum Input {
    Chunk(Bytes),
    /// A file ends here; a record does not reach into the next one.
    EndOfSource,
    /// The last file has ended. The channel stays open for signals.
    End,
    Failed(Failure),
    /// A signal asks for the end.
    Interrupted,
}

/// Open files, in order.
pub(super) struct Feed {
    sources: Vec<(String, Source)>,
    /// Bytes of all of them, where that is known.
    total: Option<u64>,
}

enum Source {
    Stdin,
    File(File),
}

impl Feed {
    /// Opens every file before the first record is appended. None, or `-`, stands for stdin.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let stdin = [PathBuf::from("-")];
        let paths = if paths.is_empty() { &stdin[..] } else { paths };
        let mut feed = Self { sources: Vec::with_capacity(paths.len()), total: Some(0) };
        for path in paths {
            feed.add(path)?;
        }
        Ok(feed)
    }

    fn add(&mut self, path: &Path) -> Result<(), Failure> {
        let name = path.display().to_string();
        if name == "-" {
            self.total = None;
            self.sources.push(("stdin".to_owned(), Source::Stdin));
            return Ok(());
        }
        let opened = File::open(path).and_then(|file| file.metadata().map(|about| (file, about)));
        let (file, about) = opened.map_err(|error| unreadable(&name, &error))?;
        if about.is_dir() {
            return Err(unreadable(&name, &io::Error::from(io::ErrorKind::IsADirectory)));
        }
        self.total = self.total.filter(|_| about.is_file()).map(|total| total + about.len());
        self.sources.push((name, Source::File(file)));
        Ok(())
    }

    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Begins to read. The thread is not waited for: it may hang in a read of stdin when a signal ends the command.
    pub(super) fn start(self) -> Result<Receiver<Input>, Failure> {
        let (pieces, input) = sync_channel(AHEAD);
        listen(pieces.clone())?;
        thread::spawn(move || self.send(&pieces));
        Ok(input)
    }

    fn send(self, pieces: &SyncSender<Input>) -> Result<(), Unheard> {
        self.sources.into_iter().try_for_each(|(name, source)| send_source(&name, source, pieces))?;
        pieces.send(Input::End).map_err(|_| Unheard)
    }
}

/// The receiver went away: the command is over.
struct Unheard;

fn send_source(name: &str, source: Source, pieces: &SyncSender<Input>) -> Result<(), Unheard> {
    let mut source: Box<dyn Read> = match source {
        Source::Stdin => Box::new(io::stdin()),
        Source::File(file) => Box::new(file),
    };
    loop {
        let mut chunk = vec![0; CHUNK];
        let piece = match source.read(&mut chunk) {
            Ok(0) => Input::EndOfSource,
            Ok(len) => {
                chunk.truncate(len);
                Input::Chunk(chunk.into())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Input::Failed(unreadable(name, &error)),
        };
        let last = !matches!(piece, Input::Chunk(_));
        pieces.send(piece).map_err(|_| Unheard)?;
        if last {
            return Ok(());
        }
    }
}

/// Ends the input at the first SIGINT, SIGTERM or SIGHUP, and the process at the second.
fn listen(pieces: SyncSender<Input>) -> Result<(), Failure> {
    let asked = Arc::new(AtomicBool::new(false));
    let heard = ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            #[expect(clippy::disallowed_methods, reason = "the user insists; nothing durable depends on destructors")]
            std::process::exit(INTERRUPTED);
        }
        let pieces = pieces.clone();
        // Sending waits while the input is ahead of the store, and a second signal must be heard meanwhile.
        thread::spawn(move || pieces.send(Input::Interrupted));
    });
    match heard {
        // A second command of the same process keeps the first one's handler.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => {
            Err(Failure::new("signals", format!("can't listen for signals: {error}"), "try again outside of a sandbox"))
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::new("input", format!("can't read {name}: {error}"), "check the path and its permissions")
}
