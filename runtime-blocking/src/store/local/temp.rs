//! Files under construction.
use super::disk::Disk;
use super::path;
use std::collections::hash_map::RandomState;
use std::fs::{self, DirEntry, File};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Age from which a file that nobody holds locked is taken for left behind. It covers the moment between a file's
/// creation and its lock, and file systems without locks.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// Names that no other process and no earlier one of the same number has used.
#[derive(Debug)]
pub(super) struct TempNames {
    dir: PathBuf,
    random: u64,
    next: AtomicU64,
}

impl TempNames {
    pub(super) fn new(root: &Path) -> Self {
        Self { dir: path::temp_dir(root), random: RandomState::new().build_hasher().finish(), next: AtomicU64::new(0) }
    }

    fn next(&self) -> PathBuf {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        self.dir.join(format!("{}-{n}-{:016x}", process::id(), self.random))
    }
}

/// One file under construction; its temporary name disappears when this is dropped.
#[derive(Debug)]
pub(super) struct Temp<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
    file: File,
    moved: bool,
}

impl<'a> Temp<'a> {
    pub(super) fn create(disk: &'a dyn Disk, names: &TempNames) -> io::Result<Self> {
        let path = names.next();
        let file = disk.create_temp(&path)?;
        Ok(Self { disk, path, file, moved: false })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn link(&self, to: &Path) -> io::Result<()> {
        self.disk.link(&self.path, to)
    }

    pub(super) fn rename(&mut self, to: &Path) -> io::Result<()> {
        self.disk.rename(&self.path, to)?;
        self.moved = true;
        Ok(())
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.moved {
            // What can't be removed now is swept at a later open.
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// Removes files that were left behind. What can't be judged or removed stays for the next time.
pub(super) fn sweep(dir: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let _ = remove_if_left_behind(&entry, now);
    }
}

fn remove_if_left_behind(entry: &DirEntry, now: SystemTime) -> io::Result<()> {
    let age = now.duration_since(entry.metadata()?.modified()?).unwrap_or_default();
    if age > LEFT_BEHIND {
        File::open(entry.path())?.try_lock()?;
        fs::remove_file(entry.path())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_removes_only_old_files_that_nobody_holds() {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let make = |name: &str, age: u64| {
            let file = File::create(dir.path().join(name)).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
            file
        };
        make("old", 3_601);
        make("young", 3_599);
        make("of-the-future", 0).set_modified(now + Duration::from_secs(10_000)).unwrap();
        let held = make("old-but-held", 1_000_000);
        held.lock().unwrap();

        sweep(dir.path(), now);

        let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["of-the-future", "old-but-held", "young"]);
    }
}
