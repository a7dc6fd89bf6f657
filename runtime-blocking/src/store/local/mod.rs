//! Objects as files below one directory.
//!
//! A key is a path: what lies on disk is the key layout itself. Only `.bucketlog/` at the top is no object: it holds
//! the lock file and files under construction. Objects never change in place: a file is written and flushed under
//! another name and then appears under its key at once, so that a reader, who takes no lock, sees a whole state.
//!
//! What survives a power cut at which step:
//!
//! | step of a write | before it is done | answer if it fails |
//! |---|---|---|
//! | missing directories are made and flushed, parent by parent | nothing to see | definite |
//! | temp file is written and flushed | nothing to see | definite |
//! | `link` (create) or `rename` (swap): the commit point | old state | definite if the system refused it, else unknown |
//! | the directory is flushed | old or new state | unknown |
//! | the answer | new state | |
mod dirs;
mod disk;
mod fault;
mod lock;
mod path;
mod read;
mod temp;
#[cfg(test)]
mod tests;
mod walk;
mod write;

use super::Store;
use bucketlog_core::boundary::{
    Create, CreateReply, Delete, Fault, Get, GetReply, Key, List, ListReply, Stat, StatReply, Swap, SwapReply,
};
use dirs::Directories;
use disk::{Disk, SystemDisk};
use lock::Turn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use temp::TempNames;

/// Whether an answered write survives a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SyncPolicy {
    /// Files and directories are flushed to the device before a write is answered.
    #[default]
    Full,
    /// Nothing is flushed. **Not durable**: a power cut may lose or tear answered writes. For tests and benchmarks.
    None,
}

/// How a [`LocalDir`] works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LocalDirOptions {
    /// Durability; [`SyncPolicy::Full`] by default.
    pub sync: SyncPolicy,
}

/// A store in a directory of a local Unix file system; any number of processes may share it.
///
/// **Keys.** `a/b` is the file `a/b` below the root. Keys with an empty part, `.`, `..`, a NUL byte or a first part
/// `.bucketlog` are [`Invalid`], and so is what the file system can't hold: a part above its limit (mostly 255 bytes),
/// or both `a` and `a/b`. Listings show regular files with UTF-8 names. Directories that become empty stay.
///
/// **Versions.** The token of a state is the SHA-256 of its content. A read of [`ByteRange::All`] of an object of at
/// most [`LocalDir::MAX_VERSIONED`] bytes tells it, and so does every read with a condition, whatever its range and
/// size; other reads, stats, listings and creates don't, because hashing would cost more than the read. A swap takes no
/// larger body, so what can be swapped can always be read with its version. Equal content has an equal token: a
/// protocol on top must never store the same bytes twice under one swapped key.
///
/// **Uploads in parts** are [`Unsupported`]: a file is written whole anyway, and parts would only be copied once more.
///
/// **Concurrency.** Swaps and deletes hold an exclusive lock on `.bucketlog/lock`, which is never deleted. Creates rest
/// on `link`, which fails if the key exists. A write that doesn't get the lock by its deadline is [`Conflict`].
///
/// **Durability.** A write is answered after its directory was flushed. Readers may see a write a moment before that. A
/// directory whose flush failed is flushed again, successfully, before anything in it is answered; so a read that finds
/// a write of unknown outcome proves it durable.
///
/// **Faults.** A full disk or quota, an IO error or too many open files before the commit point are
/// [`Fault::NotSent`]: nothing of the attempt is visible and it may be repeated, though none of them is the request's
/// own fault. Missing permission or a read-only mount is [`Denied`]. Running system calls can't be interrupted: a
/// deadline is honoured before the start, while waiting for the lock, and before the commit point.
///
/// [`ByteRange::All`]: bucketlog_core::boundary::ByteRange::All
/// [`Invalid`]: bucketlog_core::boundary::RefusalKind::Invalid
/// [`Conflict`]: bucketlog_core::boundary::RefusalKind::Conflict
/// [`Denied`]: bucketlog_core::boundary::RefusalKind::Denied
/// [`Unsupported`]: bucketlog_core::boundary::RefusalKind::Unsupported
#[derive(Debug)]
pub struct LocalDir {
    root: PathBuf,
    disk: Arc<dyn Disk>,
    directories: Directories,
    turn: Turn,
    temp_names: TempNames,
}

impl LocalDir {
    /// Largest object, in bytes, that can be swapped and whose whole read tells its version: 4 MiB.
    pub const MAX_VERSIONED: u64 = 4 << 20;

    /// Opens the directory, and makes it if it is missing.
    ///
    /// Files under construction that a dead process left behind are removed: those older than an hour that no process
    /// holds locked.
    ///
    /// # Errors
    /// A directory that can't be made, or something else of that name.
    pub fn open(root: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_with(root, LocalDirOptions::default())
    }

    /// [`LocalDir::open`] with options.
    ///
    /// # Errors
    /// A directory that can't be made, or something else of that name.
    pub fn open_with(root: impl AsRef<Path>, options: LocalDirOptions) -> io::Result<Self> {
        Self::open_on(Arc::new(SystemDisk::new(options.sync)), root.as_ref())
    }

    fn open_on(disk: Arc<dyn Disk>, root: &Path) -> io::Result<Self> {
        dirs::make_root(&*disk, root)?;
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        temp::sweep(&path::temp_dir(&root), SystemTime::now());
        Ok(Self {
            disk,
            directories: Directories::new(&root),
            turn: Turn::default(),
            temp_names: TempNames::new(&root),
            root,
        })
    }

    /// The directory, absolute and free of symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a key, in a directory that owes no flush.
    fn locate(&self, key: &Key, until: Instant) -> Result<PathBuf, Fault> {
        fault::check_deadline(until)?;
        let path = path::of_key(&self.root, key.as_str())?;
        self.directories.settle(&*self.disk, path::directory(&path)).map_err(|e| fault::after_commit("flush", &e))?;
        Ok(path)
    }
}

impl Store for LocalDir {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        self.read_object(request, until)
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        self.stat_object(&request.key, until)
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        self.list_objects(request, until)
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        self.delete_object(&request.key, until)
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        self.create_object(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        self.swap_object(request, until)
    }
}
