//! Deletes of many objects.
use super::case::{Case, done, equal, refused};
use bucketlog_core::boundary::{Fault, RefusalKind};

/// Names that documents have to escape.
const NAMES: [&str; 5] = ["plain", "a & b", "<c>", "d\"e'f", "g+h%20ü"];

fn all_deleted(outcomes: Vec<Result<(), Fault>>, count: usize) -> Result<(), String> {
    equal("outcomes", &outcomes.len(), &count)?;
    outcomes.into_iter().try_for_each(|outcome| done("delete", outcome))
}

pub(super) fn delete_many(case: &Case<'_>) -> Result<(), String> {
    for name in NAMES.into_iter().chain(["left"]) {
        done("create", case.create(name, b"body"))?;
    }
    let names: Vec<_> = NAMES.into_iter().chain(["missing", "missing too"]).collect();
    all_deleted(done("delete many", case.delete_many(&names))?, names.len())?;
    for name in names {
        refused("stat after delete", case.stat(name), &[RefusalKind::NotFound])?;
    }
    case.holds("left", b"body").map(drop)
}

/// S3's limit; most of the keys are missing.
pub(super) fn delete_many_of_a_thousand(case: &Case<'_>) -> Result<(), String> {
    let names: Vec<String> = (0..1_000).map(|n| format!("{n:04}")).collect();
    for name in names.iter().step_by(100) {
        done("create", case.create(name, b"body"))?;
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    all_deleted(done("delete many", case.delete_many(&names))?, names.len())?;
    equal("keys that are left", &case.names(&case.list("", None, 1)?), &Vec::new())
}

pub(super) fn delete_many_of_none(case: &Case<'_>) -> Result<(), String> {
    match case.delete_many(&[]) {
        Ok(outcomes) => equal("outcomes", &outcomes.len(), &0),
        refusal => refused("delete many", refusal, &[RefusalKind::Invalid]),
    }
}
