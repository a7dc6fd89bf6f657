//! The shared golden data, which lies beside the project.
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder of objlog's objects, or `None` (and a note) where the data is absent.
pub(crate) fn objlog() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/objlog");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: ../shared/golden is absent");
    None
}

pub(crate) fn load(folder: &Path, name: &str) -> Value {
    let text = std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The rows of an array.
#[track_caller]
pub(crate) fn rows(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

#[track_caller]
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}
