//! The system calls of a write, behind a trait so that tests can record their order and make each of them fail.
use super::SyncPolicy;
use bytes::Bytes;
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

pub(super) trait Disk: Debug + Send + Sync {
    /// Makes one directory; an existing one is fine.
    fn make_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes a new file and locks it for as long as it is open, which keeps the sweep of other processes away.
    fn create_temp(&self, path: &Path) -> io::Result<File>;
    fn write(&self, file: &File, pieces: &[Bytes]) -> io::Result<()>;
    fn sync_file(&self, file: &File) -> io::Result<()>;
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Gives a file a second name; fails if that name exists.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Moves a file over another one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn open(&self, path: &Path) -> io::Result<File>;
    /// Opens the lock file, makes it if missing, and locks it without waiting.
    fn try_lock(&self, path: &Path) -> Result<File, TryLockError>;
    fn unlock(&self, lock: &File) -> io::Result<()>;
}

/// The real thing.
#[derive(Debug)]
pub(super) struct SystemDisk {
    sync: SyncPolicy,
}

impl SystemDisk {
    pub(super) fn new(sync: SyncPolicy) -> Self {
        Self { sync }
    }
}

impl Disk for SystemDisk {
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        match fs::create_dir(dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    fn create_temp(&self, path: &Path) -> io::Result<File> {
        let file = open_making_parent(OpenOptions::new().write(true).create_new(true), path)?;
        // A file system without locks leaves the sweep its other rule, the age.
        let _ = file.try_lock();
        Ok(file)
    }

    fn write(&self, file: &File, pieces: &[Bytes]) -> io::Result<()> {
        let mut writer = BufWriter::new(file);
        pieces.iter().try_for_each(|piece| writer.write_all(piece))?;
        writer.flush()
    }

    fn sync_file(&self, file: &File) -> io::Result<()> {
        match self.sync {
            SyncPolicy::Full => file.sync_all(),
            SyncPolicy::None => Ok(()),
        }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        match self.sync {
            SyncPolicy::Full => File::open(dir)?.sync_all(),
            SyncPolicy::None => Ok(()),
        }
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        File::open(path)
    }

    fn try_lock(&self, path: &Path) -> Result<File, TryLockError> {
        let file = open_making_parent(OpenOptions::new().write(true).create(true).truncate(false), path)
            .map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(file)
    }

    fn unlock(&self, lock: &File) -> io::Result<()> {
        lock.unlock()
    }
}

/// The service directory is made on first use, so that a reader without write permission can open a store.
fn open_making_parent(options: &OpenOptions, path: &Path) -> io::Result<File> {
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            options.open(path)
        }
        other => other,
    }
}
