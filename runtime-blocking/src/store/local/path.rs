//! Keys and files.
use super::super::rules;
use bucketlog_core::boundary::Fault;
use std::path::{Path, PathBuf};

/// The one name at the top that is no part of the key space.
pub(super) const SERVICE_DIR: &str = ".bucketlog";

pub(super) fn lock_file(root: &Path) -> PathBuf {
    root.join(SERVICE_DIR).join("lock")
}

pub(super) fn temp_dir(root: &Path) -> PathBuf {
    root.join(SERVICE_DIR).join("tmp")
}

/// The file of an object, always below `root` and outside the service directory.
pub(super) fn of_key(root: &Path, key: &str) -> Result<PathBuf, Fault> {
    check(key)?;
    Ok(root.join(key))
}

/// The directory of an object's file.
pub(super) fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Whether a key, or the directory part of a prefix, stays inside the key space.
pub(super) fn check(key: &str) -> Result<(), Fault> {
    if key.contains('\0') {
        return Err(rules::invalid("a key can't hold a NUL byte"));
    }
    if key.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(rules::invalid("a key can't have an empty part, `.` or `..`"));
    }
    // Some file systems fold case.
    if key.split('/').next().is_some_and(|part| part.eq_ignore_ascii_case(SERVICE_DIR)) {
        return Err(rules::invalid("`.bucketlog` is not part of the key space"));
    }
    Ok(())
}
