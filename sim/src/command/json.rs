//! Summaries for programs: one object each. Its fields are described in `docs/sim.md`.
use super::Kept;
use super::searches::Row;
use super::seeded::Sum;
#[cfg(feature = "mutants")]
use bucketlog_sim::mutants::Verdict;
use serde_json::{Value, json};

fn failure(kept: &Kept) -> Value {
    let Kept { violation, short, replay } = kept;
    json!({ "rule": violation.rule, "detail": violation.detail, "run": short.to_string(), "replay": replay })
}

pub(super) fn runs(sum: &Sum, failed: Option<(u64, &Kept)>, again: &str) -> Value {
    let fates = sum.stats.fates.iter().map(|((kind, how), count)| (format!("{kind} {how}"), (*count).into()));
    let fates: serde_json::Map<String, Value> = fates.collect();
    let failed = failed.map(|(seed, kept)| {
        let mut failure = failure(kept);
        failure["seed"] = seed.into();
        failure
    });
    json!({
        "from": sum.from,
        "runs": sum.runs,
        "steps": sum.steps,
        "seconds": sum.time.as_secs_f64(),
        "rules": sum.stats.rules,
        "fates": fates,
        "events": sum.stats.events,
        "failure": failed,
        "again": again,
    })
}

pub(super) fn searches(depth: u32, rows: &[Row], kept: Option<&Kept>) -> Value {
    let row = |row: &Row| {
        json!({
            "from": row.from,
            "states": row.found.states,
            "steps": row.found.steps,
            "rests": row.found.rests,
            "complete": !row.found.is_cut && row.found.failure.is_none(),
            "seconds": row.time.as_secs_f64(),
        })
    };
    json!({ "depth": depth, "searches": rows.iter().map(row).collect::<Vec<_>>(), "failure": kept.map(failure) })
}

#[cfg(feature = "mutants")]
pub(super) fn mutants(verdicts: &[(&str, Verdict)]) -> Value {
    let row = |(name, verdict): &(&str, Verdict)| {
        let panicked = verdict.panicked.as_ref();
        json!({
            "name": name,
            "seed": verdict.caught.map(|(seed, _)| seed),
            "rule": verdict.caught.map(|(_, rule)| rule),
            "panic_seed": panicked.map(|(seed, _)| seed),
            "panic": panicked.map(|(_, message)| message),
        })
    };
    json!({ "variants": verdicts.iter().map(row).collect::<Vec<_>>() })
}
