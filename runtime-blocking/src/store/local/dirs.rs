//! What this process knows about the durability of directories.
use super::disk::Disk;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Makes directories so that they survive a power cut, and remembers failed flushes.
#[derive(Debug)]
pub(super) struct Directories {
    root: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Directories below the root whose own entries, up to the root, this process has flushed.
    durable: BTreeSet<PathBuf>,
    /// Directories with entries that may not be durable, and how often their flush failed.
    owed: BTreeMap<PathBuf, u64>,
}

impl Directories {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), known: Mutex::default() }
    }

    /// Makes `dir` and what is missing above it. An existing directory is flushed into its parent too, once: whoever
    /// made it may have died before doing so.
    pub(super) fn make(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        if self.known().durable.contains(dir) {
            return Ok(());
        }
        let mut parent = self.root.clone();
        for part in dir.strip_prefix(&self.root).unwrap_or(dir) {
            let child = parent.join(part);
            if !self.known().durable.contains(&child) {
                disk.make_dir(&child)?;
                disk.sync_dir(&parent)?;
                self.known().durable.insert(child.clone());
            }
            parent = child;
        }
        Ok(())
    }

    /// Flushes the entries of a directory; remembers a failure.
    pub(super) fn sync(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        disk.sync_dir(dir).inspect_err(|_| self.owe(dir))
    }

    /// Notes that entries of this directory may not be durable.
    pub(super) fn owe(&self, dir: &Path) {
        *self.known().owed.entry(dir.to_path_buf()).or_default() += 1;
    }

    /// Makes up for a failed flush, if there was one.
    pub(super) fn settle(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        let Some(failures) = self.known().owed.get(dir).copied() else { return Ok(()) };
        self.sync(disk, dir)?;
        let mut known = self.known();
        // A flush that failed while this one ran is not made up for.
        if known.owed.get(dir) == Some(&failures) {
            known.owed.remove(dir);
        }
        Ok(())
    }

    /// [`Directories::settle`] for every directory.
    pub(super) fn settle_all(&self, disk: &dyn Disk) -> io::Result<()> {
        let owed: Vec<PathBuf> = self.known().owed.keys().cloned().collect();
        owed.iter().try_for_each(|dir| self.settle(disk, dir))
    }

    /// Somebody else removed directories: make them anew next time.
    pub(super) fn forget_made(&self) {
        self.known().durable.clear();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the root of a store and what is missing above it.
pub(super) fn make_root(disk: &dyn Disk, root: &Path) -> io::Result<()> {
    let Some(parent) = root.parent() else { return Ok(()) };
    if root.as_os_str().is_empty() || root.exists() {
        return Ok(());
    }
    make_root(disk, parent)?;
    disk.make_dir(root)?;
    disk.sync_dir(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}
