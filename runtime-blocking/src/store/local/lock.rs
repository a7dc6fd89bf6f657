//! One swap or delete at a time: first among the threads of this store, then among processes.
use super::disk::Disk;
use super::fault;
use bucketlog_core::boundary::{Fault, RefusalKind};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Whose turn it is among the threads of one store; waiting for it costs no polling.
#[derive(Debug, Default)]
pub(super) struct Turn {
    taken: Mutex<bool>,
    free: Condvar,
}

/// Exclusive until dropped.
#[derive(Debug)]
pub(super) struct Exclusive<'a> {
    disk: &'a dyn Disk,
    file: File,
    _turn: Taken<'a>,
}

#[derive(Debug)]
struct Taken<'a>(&'a Turn);

impl Turn {
    /// Waits for the turn and then for the lock file.
    pub(super) fn take<'a>(&'a self, disk: &'a dyn Disk, path: &Path, until: Instant) -> Result<Exclusive<'a>, Fault> {
        let turn = self.wait(until)?;
        let file = lock_file(disk, path, until)?;
        Ok(Exclusive { disk, file, _turn: turn })
    }

    fn wait(&self, until: Instant) -> Result<Taken<'_>, Fault> {
        let patience = until.saturating_duration_since(Instant::now());
        let (mut taken, _) = self
            .free
            .wait_timeout_while(self.taken(), patience, |taken| *taken)
            .unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return Err(busy());
        }
        *taken = true;
        Ok(Taken(self))
    }

    fn taken(&self) -> MutexGuard<'_, bool> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.taken() = false;
        self.0.free.notify_one();
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        // Closing the file releases the lock as well.
        let _ = self.disk.unlock(&self.file);
    }
}

/// Other processes are asked again at growing intervals, because the system's blocking lock knows no deadline.
#[expect(clippy::disallowed_methods, reason = "a lock of the operating system can't be waited for with a deadline")]
fn lock_file(disk: &dyn Disk, path: &Path, until: Instant) -> Result<File, Fault> {
    const SHORTEST: Duration = Duration::from_micros(50);
    const LONGEST: Duration = Duration::from_millis(5);
    let mut pause = SHORTEST;
    loop {
        match disk.try_lock(path) {
            Ok(file) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(fault::before_commit("lock", &error)),
            Err(TryLockError::WouldBlock) => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(busy());
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST);
    }
}

fn busy() -> Fault {
    Fault::refused(RefusalKind::Conflict, "another write held the lock until the deadline")
}
