//! I14: every command that shows data has `--json`, and docs/cli.md names every field of it.
use crate::log::{Log, json_lines};
use crate::run::{Finished, bucketlog, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn docs() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    std::fs::read_to_string(file).expect("docs/cli.md")
}

/// The names of all fields, however deep, and the values of `kind`.
fn names(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                into.insert(name.clone());
                if name == "kind" {
                    into.extend(value.as_str().map(str::to_owned));
                }
                names(value, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, into)),
        _ => {}
    }
}

#[track_caller]
fn printed(found: &[Finished]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for finished in found {
        assert!(finished.stderr.is_empty() && !finished.stdout.is_empty(), "{finished:?}");
        json_lines(&finished.stdout).iter().for_each(|line| names(line, &mut all));
    }
    all
}

/// Names in backticks, or between the quotes of an example.
fn is_documented(docs: &str, name: &str) -> bool {
    docs.contains(&format!("`{name}`")) || docs.contains(&format!("\"{name}\":"))
}

#[track_caller]
fn check(found: &[Finished]) -> BTreeSet<String> {
    let (docs, printed) = (docs(), printed(found));
    let missing: Vec<_> = printed.iter().filter(|name| !is_documented(&docs, name)).collect();
    assert!(missing.is_empty(), "not in docs/cli.md: {missing:?}");
    printed
}

fn inspect(fixture: &str) -> Finished {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(fixture);
    run(bucketlog().args(["inspect", "--json", "--records"]).arg(file)).ok()
}

#[test]
fn append_read_and_head_print_documented_fields() {
    let log = Log::new();
    let appended = log.append(&["--json"], b"text\n\xff\n").ok();
    let read = run(log.command("read").arg("--json")).ok();
    let head = run(log.command("head").arg("--json")).ok();
    let printed = check(&[appended, read, head]);
    for name in ["committed_next_lsn", "summary", "value_base64", "value", "last_segment", "active"] {
        assert!(printed.contains(name), "{name}");
    }
}

#[test]
fn inspect_prints_the_documented_fields_and_no_others() {
    let printed = check(&[
        inspect("segformat/v2/headers-none-crc32c.bin"),
        inspect("catformat/v1/xxh64-head-gen16-append.bin"),
        inspect("catformat/v1/xxh64-page-l00-gen04.bin"),
        inspect("catformat/v1/xxh64-page-l01-gen11.bin"),
    ]);
    let docs = docs();
    let (_, schema) = docs.split_once("| `kind` | fields |").expect("the schema begins");
    let (schema, _) = schema.split_once("An object knows its stream").expect("the schema ends");
    let promised = schema.split('`').skip(1).step_by(2).filter(|word| !word.starts_with("--"));
    let absent: Vec<_> = promised.filter(|name| !printed.contains(*name)).collect();
    assert!(absent.is_empty(), "only in docs/cli.md: {absent:?}");
}

#[test]
fn doctor_prints_documented_fields() {
    let dir = tempfile::tempdir().expect("a directory");
    let printed = check(&[run(bucketlog().args(["doctor", "--quick", "--json", "--store"]).arg(dir.path())).ok()]);
    assert!(printed.contains("fit_for"));
}

#[test]
fn failures_print_documented_fields() {
    let log = Log::new();
    log.append(&["--timestamp", "5"], b"x\n").ok();
    let damaged = log.path().join("damaged");
    std::fs::write(&damaged, "PLSG").expect("a file");
    check(&[
        run(log.command("read").args(["--json", "--from", "9"])),
        run(log.command("read").args(["--json", "--limit", "x"])),
        run(bucketlog().args(["read", "--json"])),
        run(bucketlog().args(["inspect", "--json"]).arg(damaged)),
        run(bucketlog().args(["inspect", "--json", "no/such/file"])),
        run(bucketlog().args(["head", "--json", "--stream", "s", "--store", "no/such/store"])),
        log.append(&["--json", "--timestamp", "4"], b"x\n"),
        log.append(&["--json", "--length-prefixed"], b"x"),
    ]);
}
