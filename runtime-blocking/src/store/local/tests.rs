//! The order of system calls, which a killed process can't show, and what the failure of each one means.
use super::disk::{Disk, SystemDisk};
use super::{LocalDir, SyncPolicy, path};
use crate::store::Store;
use bucketlog_core::boundary::{
    ByteRange, Create, Delete, Fault, Get, GetReply, Key, List, RefusalKind, Stat, Swap, SwapCondition, Version,
};
use bytes::Bytes;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Records every step, performs it, and fails the chosen one instead.
#[derive(Debug)]
struct Recorder {
    system: SystemDisk,
    root: PathBuf,
    script: Mutex<Script>,
}

#[derive(Debug, Default)]
struct Script {
    steps: Vec<String>,
    failing: Option<(String, ErrorKind)>,
}

impl Recorder {
    fn step(&self, name: &str, path: &Path) -> io::Result<()> {
        let mut script = self.script.lock().unwrap();
        let step = format!("{name}{}", self.relative(path));
        script.steps.push(step.clone());
        match &script.failing {
            Some((failing, kind)) if *failing == step => Err((*kind).into()),
            _ => Ok(()),
        }
    }

    fn relative(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root).unwrap().to_str().unwrap() {
            "" if path == self.root => " (root)".to_owned(),
            text if text.starts_with(".bucketlog/tmp/") => " TEMP".to_owned(),
            text => format!(" {text}"),
        }
    }
}

impl Disk for Recorder {
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        self.step("make_dir", dir)?;
        self.system.make_dir(dir)
    }
    fn create_temp(&self, path: &Path) -> io::Result<File> {
        self.step("create", path)?;
        self.system.create_temp(path)
    }
    fn write(&self, file: &File, pieces: &[Bytes]) -> io::Result<()> {
        self.step("write", &self.root.join(".bucketlog/tmp/x"))?;
        self.system.write(file, pieces)
    }
    fn sync_file(&self, file: &File) -> io::Result<()> {
        self.step("sync", &self.root.join(".bucketlog/tmp/x"))?;
        self.system.sync_file(file)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.step("sync_dir", dir)?;
        self.system.sync_dir(dir)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("link", to)?;
        self.system.link(from, to)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename", to)?;
        self.system.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step("remove", path)?;
        self.system.remove(path)
    }
    fn open(&self, path: &Path) -> io::Result<File> {
        self.step("open", path)?;
        self.system.open(path)
    }
    fn try_lock(&self, path: &Path) -> Result<File, TryLockError> {
        self.step("lock", path).map_err(TryLockError::Error)?;
        self.system.try_lock(path)
    }
    fn unlock(&self, lock: &File) -> io::Result<()> {
        self.step("unlock", &path::lock_file(&self.root))?;
        self.system.unlock(lock)
    }
}

struct Bench {
    _dir: TempDir,
    recorder: Arc<Recorder>,
    store: LocalDir,
}

const KEY: &str = "logs/p0/head";

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let recorder = Arc::new(Recorder {
            system: SystemDisk::new(SyncPolicy::None),
            root: root.clone(),
            script: Mutex::default(),
        });
        let store = LocalDir::open_on(recorder.clone(), &root).unwrap();
        Self { _dir: dir, recorder, store }
    }

    /// Where `KEY` holds `old`, so that its directories are known to be durable.
    fn with_old() -> Self {
        let bench = Self::new();
        bench.create("old").unwrap();
        bench
    }

    fn fail(&self, step: &str, kind: ErrorKind) {
        self.recorder.script.lock().unwrap().failing = Some((step.to_owned(), kind));
    }

    fn heal(&self) {
        self.recorder.script.lock().unwrap().failing = None;
    }

    /// The steps of `action`.
    fn steps<T>(&self, action: impl FnOnce(&Self) -> T) -> (T, Vec<String>) {
        self.recorder.script.lock().unwrap().steps.clear();
        let result = action(self);
        (result, self.recorder.script.lock().unwrap().steps.clone())
    }

    fn create(&self, body: &'static str) -> Result<(), Fault> {
        self.create_at(KEY, body, soon())
    }

    fn create_at(&self, key: &str, body: &'static str, until: Instant) -> Result<(), Fault> {
        let body = vec![Bytes::from(body)];
        self.store.create(&Create { key: Key::from(key), body }, until).map(drop)
    }

    fn swap(&self, condition: SwapCondition, body: &'static str) -> Result<(), Fault> {
        self.store.swap(&Swap { key: Key::from(KEY), body: Bytes::from(body), condition }, soon()).map(drop)
    }

    fn swap_old(&self, body: &'static str) -> Result<(), Fault> {
        self.swap(matches("old"), body)
    }

    fn delete(&self) -> Result<(), Fault> {
        self.store.delete(&Delete { key: Key::from(KEY) }, soon())
    }

    fn get(&self) -> Result<Bytes, Fault> {
        match self.store.get(&Get::new(Key::from(KEY), ByteRange::All, 100), soon())? {
            GetReply::Found { body, .. } => Ok(body),
            GetReply::NotModified => unreachable!("the read has no condition"),
        }
    }

    fn on_disk(&self) -> Option<String> {
        fs::read_to_string(self.store.root().join(KEY)).ok()
    }

    fn temp_files(&self) -> usize {
        fs::read_dir(path::temp_dir(self.store.root())).map_or(0, Iterator::count)
    }

    fn lock_is_free(&self) -> bool {
        SystemDisk::new(SyncPolicy::None).try_lock(&path::lock_file(self.store.root())).is_ok()
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

fn matches(content: &str) -> SwapCondition {
    SwapCondition::Matches(super::read::version_of(content.as_bytes()))
}

/// The fault in a word.
fn word(result: &Result<(), Fault>) -> &'static str {
    match result {
        Ok(()) => "done",
        Err(Fault::NotSent(_)) => "not sent",
        Err(Fault::Indeterminate(_)) => "unknown",
        Err(Fault::Refused(refusal)) => match refusal.kind {
            RefusalKind::Precondition => "precondition",
            RefusalKind::NotFound => "not found",
            RefusalKind::Denied => "denied",
            RefusalKind::Invalid => "invalid",
            RefusalKind::Unsupported => "unsupported",
            RefusalKind::Conflict => "conflict",
            _ => "another refusal",
        },
    }
}

const CREATE: [&str; 6] =
    ["create TEMP", "write TEMP", "sync TEMP", "link logs/p0/head", "sync_dir logs/p0", "remove TEMP"];

const SWAP: [&str; 8] = [
    "lock .bucketlog/lock",
    "open logs/p0/head",
    "create TEMP",
    "write TEMP",
    "sync TEMP",
    "rename logs/p0/head",
    "sync_dir logs/p0",
    "unlock .bucketlog/lock",
];

#[test]
fn a_first_create_makes_and_flushes_each_directory_before_the_object_appears() {
    let (result, steps) = Bench::new().steps(|bench| bench.create("new"));
    assert_eq!(word(&result), "done");
    assert_eq!(steps[..4], ["make_dir logs", "sync_dir (root)", "make_dir logs/p0", "sync_dir logs"]);
    assert_eq!(steps[4..], CREATE);
}

#[test]
fn a_later_create_flushes_only_its_own_directory() {
    let bench = Bench::with_old();
    bench.delete().unwrap();
    let (result, steps) = bench.steps(|bench| bench.create("new"));
    assert_eq!(word(&result), "done");
    assert_eq!(steps, CREATE);
}

#[test]
fn directories_that_somebody_else_made_are_flushed_too() {
    let bench = Bench::new();
    fs::create_dir_all(bench.store.root().join("logs/p0")).unwrap();
    let (_, steps) = bench.steps(|bench| bench.create("new"));
    assert_eq!(steps[..4], ["make_dir logs", "sync_dir (root)", "make_dir logs/p0", "sync_dir logs"]);
}

#[test]
fn a_create_of_an_existing_key_flushes_the_directory_before_it_says_so() {
    let (result, steps) = Bench::with_old().steps(|bench| bench.create("new"));
    assert_eq!(word(&result), "precondition");
    assert_eq!(steps, CREATE);
}

#[test]
fn a_swap_compares_under_the_lock_and_unlocks_after_the_flush() {
    let (result, steps) = Bench::with_old().steps(|bench| bench.swap_old("new"));
    assert_eq!(word(&result), "done");
    assert_eq!(steps, SWAP);
}

#[test]
fn a_swap_with_a_stale_version_writes_nothing() {
    let bench = Bench::with_old();
    let (result, steps) = bench.steps(|bench| bench.swap(matches("older"), "new"));
    assert_eq!(word(&result), "precondition");
    assert_eq!(steps, ["lock .bucketlog/lock", "open logs/p0/head", "unlock .bucketlog/lock"]);
}

#[test]
fn a_swap_of_an_absent_key_links_because_creates_take_no_lock() {
    let bench = Bench::with_old();
    bench.delete().unwrap();
    let (result, steps) = bench.steps(|bench| bench.swap(SwapCondition::Absent, "new"));
    assert_eq!(word(&result), "done");
    assert_eq!(steps[0], "lock .bucketlog/lock");
    assert_eq!(steps[1..7], CREATE);
    assert_eq!(steps[7..], ["unlock .bucketlog/lock"]);
}

#[test]
fn a_delete_unlinks_under_the_lock_and_flushes_outside_it() {
    let (result, steps) = Bench::with_old().steps(Bench::delete);
    assert_eq!(word(&result), "done");
    assert_eq!(steps, ["lock .bucketlog/lock", "remove logs/p0/head", "unlock .bucketlog/lock", "sync_dir logs/p0"]);
}

/// Fails one step and gives the answer, after checking what must hold after any failure.
fn answer(bench: &Bench, step: &str, kind: ErrorKind, write: impl FnOnce(&Bench) -> Result<(), Fault>) -> &'static str {
    bench.fail(step, kind);
    let (result, steps) = bench.steps(write);
    bench.heal();
    assert!(steps.iter().any(|done| done == step), "{step} is not part of {steps:?}");
    assert!(bench.lock_is_free(), "the lock is held after a failed {step}");
    let leftover = usize::from(step == "remove TEMP");
    assert_eq!(bench.temp_files(), leftover, "temp files after a failed {step}");
    word(&result)
}

#[test]
fn each_step_of_a_create_fails_in_its_own_way() {
    let table = [
        ("make_dir logs", "not sent", None),
        ("sync_dir (root)", "not sent", None),
        ("make_dir logs/p0", "not sent", None),
        ("sync_dir logs", "not sent", None),
        ("create TEMP", "not sent", None),
        ("write TEMP", "not sent", None),
        ("sync TEMP", "not sent", None),
        ("link logs/p0/head", "unknown", None),
        ("sync_dir logs/p0", "unknown", Some("new")),
        ("remove TEMP", "done", Some("new")),
    ];
    for (step, expected, on_disk) in table {
        let bench = Bench::new();
        assert_eq!(answer(&bench, step, ErrorKind::Other, |bench| bench.create("new")), expected, "{step}");
        assert_eq!(bench.on_disk().as_deref(), on_disk, "{step}");
        let repeated = if on_disk.is_some() { "precondition" } else { "done" };
        assert_eq!(word(&bench.create("new")), repeated, "repeated after {step}");
    }
}

#[test]
fn each_step_of_a_swap_fails_in_its_own_way() {
    let table = [
        ("lock .bucketlog/lock", "not sent", "old"),
        ("open logs/p0/head", "not sent", "old"),
        ("create TEMP", "not sent", "old"),
        ("write TEMP", "not sent", "old"),
        ("sync TEMP", "not sent", "old"),
        ("rename logs/p0/head", "unknown", "old"),
        ("sync_dir logs/p0", "unknown", "new"),
        ("unlock .bucketlog/lock", "done", "new"),
    ];
    for (step, expected, on_disk) in table {
        let bench = Bench::with_old();
        assert_eq!(answer(&bench, step, ErrorKind::Other, |bench| bench.swap_old("new")), expected, "{step}");
        assert_eq!(bench.on_disk().as_deref(), Some(on_disk), "{step}");
        let repeated = if on_disk == "new" { "precondition" } else { "done" };
        assert_eq!(word(&bench.swap_old("new")), repeated, "repeated after {step}");
    }
}

#[test]
fn each_step_of_a_delete_fails_in_its_own_way() {
    let table = [
        ("lock .bucketlog/lock", "not sent", Some("old")),
        ("remove logs/p0/head", "unknown", Some("old")),
        ("sync_dir logs/p0", "unknown", None),
    ];
    for (step, expected, on_disk) in table {
        let bench = Bench::with_old();
        assert_eq!(answer(&bench, step, ErrorKind::Other, Bench::delete), expected, "{step}");
        assert_eq!(bench.on_disk().as_deref(), on_disk, "{step}");
        assert_eq!(word(&bench.delete()), "done", "repeated after {step}");
    }
}

#[test]
fn the_kind_of_error_counts_up_to_the_commit_point_and_not_after_it() {
    use ErrorKind::{
        CrossesDevices, InvalidFilename, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, TimedOut,
    };
    let table = [
        ("create TEMP", ReadOnlyFilesystem, "denied"),
        ("write TEMP", StorageFull, "not sent"),
        ("write TEMP", QuotaExceeded, "not sent"),
        ("write TEMP", PermissionDenied, "denied"),
        ("rename logs/p0/head", PermissionDenied, "denied"),
        ("rename logs/p0/head", InvalidFilename, "invalid"),
        ("rename logs/p0/head", CrossesDevices, "unsupported"),
        ("rename logs/p0/head", StorageFull, "not sent"),
        ("rename logs/p0/head", TimedOut, "unknown"),
        ("sync_dir logs/p0", PermissionDenied, "unknown"),
        ("sync_dir logs/p0", StorageFull, "unknown"),
    ];
    for (step, kind, expected) in table {
        let bench = Bench::with_old();
        assert_eq!(answer(&bench, step, kind, |bench| bench.swap_old("new")), expected, "{step}: {kind:?}");
    }
}

#[test]
fn nothing_is_answered_from_a_directory_whose_flush_failed_until_it_is_flushed() {
    type Read = fn(&Bench) -> Result<(), Fault>;
    let reads: [Read; 4] = [
        |bench| bench.get().map(drop),
        |bench| bench.store.stat(&Stat { key: Key::from(KEY) }, soon()).map(drop),
        |bench| bench.store.list(&List { prefix: Key::from(""), after: None, limit: 9 }, soon()).map(drop),
        |bench| {
            bench.swap(matches("older"), "newer").or_else(|fault| match fault.refusal() {
                Some(RefusalKind::Precondition) => Ok(()),
                _ => Err(fault),
            })
        },
    ];
    for (n, read) in reads.into_iter().enumerate() {
        let bench = Bench::with_old();
        bench.fail("sync_dir logs/p0", ErrorKind::Other);
        assert_eq!(word(&bench.swap_old("new")), "unknown");
        assert_eq!(word(&read(&bench)), "unknown", "read {n} while the flush fails");
        bench.heal();
        let (result, steps) = bench.steps(read);
        assert_eq!((word(&result), steps[0].as_str()), ("done", "sync_dir logs/p0"), "read {n}");
        let (_, steps) = bench.steps(read);
        assert!(!steps.contains(&"sync_dir logs/p0".to_owned()), "read {n} flushes again: {steps:?}");
    }
}

#[test]
fn a_directory_that_somebody_removed_is_made_again_by_the_next_attempt() {
    let bench = Bench::with_old();
    fs::remove_dir_all(bench.store.root().join("logs")).unwrap();
    assert_eq!(word(&bench.create("new")), "not sent");
    assert_eq!(word(&bench.create("new")), "done");
}

#[test]
fn nothing_is_begun_after_the_deadline() {
    let bench = Bench::with_old();
    let (result, steps) = bench.steps(|bench| bench.create_at("other", "new", Instant::now()));
    assert_eq!((word(&result), steps.len()), ("not sent", 0));
}

#[test]
fn a_write_gives_up_at_its_deadline_while_the_lock_is_held() {
    let bench = Bench::with_old();
    let lock_file = path::lock_file(bench.store.root());
    let take = || bench.store.turn.take(&*bench.recorder, &lock_file, Instant::now()).map(drop);

    let other_process = SystemDisk::new(SyncPolicy::None).try_lock(&lock_file).unwrap();
    assert_eq!(word(&take()), "conflict");
    drop(other_process);
    assert_eq!(word(&take()), "done");

    let other_thread = bench.store.turn.take(&*bench.recorder, &lock_file, soon()).unwrap();
    assert_eq!(word(&take()), "conflict");
    drop(other_thread);
    assert_eq!(word(&take()), "done");
}

#[test]
fn a_version_is_the_sha256_of_the_content_in_hexadecimal() {
    let sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(super::read::version_of(b"abc"), Version::from(sha256_of_abc));
}
