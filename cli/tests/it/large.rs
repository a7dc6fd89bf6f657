//! A million lines of real text.
use crate::log::Log;
use crate::run::run;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

const LINES: usize = 1_000_000;

/// Sources of the packages that this one was built from.
fn package_cache() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))?;
    Some(cargo.join("registry/src")).filter(|folder| folder.is_dir())
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// At least a million lines: sources, as often as it takes, and numbered lines where there are none.
fn write_text(path: &Path) {
    let mut out = BufWriter::new(File::create(path).expect("a file"));
    let mut files = Vec::new();
    if let Some(folder) = package_cache() {
        sources(&folder, &mut files);
    }
    let mut lines = 0;
    while lines < LINES && !files.is_empty() {
        for file in &files {
            let text = fs::read(file).unwrap_or_default();
            lines += memchr::memchr_iter(b'\n', &text).count();
            out.write_all(&text).expect("a file");
            if lines >= LINES {
                break;
            }
        }
        if lines == 0 {
            files.clear();
        }
    }
    for line in lines..LINES {
        writeln!(out, "line {line} of a text without sources").expect("a file");
    }
    writeln!(out).expect("a file");
    out.flush().expect("a file");
}

#[test]
fn a_million_lines_of_real_text_come_back_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let text = folder.path().join("text");
    write_text(&text);
    let log = Log::new();
    let appended = run(log.command("append").arg("--json").arg(&text)).ok();
    println!("{}", appended.text().lines().last().unwrap_or_default());
    let expected = fs::read(&text).expect("a file");
    let read = log.read(&[]);
    assert!(read == expected, "{} bytes were read, {} appended", read.len(), expected.len());
    assert!(log.next_lsn() > LINES as u64);
}
