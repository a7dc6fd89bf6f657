//! Tables and traces for people.
use super::searches::Row;
use bucketlog_sim::action::{How, Kind};
use bucketlog_sim::crash;
#[cfg(feature = "mutants")]
use bucketlog_sim::mutants::Verdict;
use bucketlog_sim::run::{Outcome, Recording};
use bucketlog_sim::stats::{ROWS, Stats};
use comfy_table::{CellAlignment, Table};
use std::time::Duration;

const LEGEND: &str = "\
a line without indent is a step; below it, for process N:
  N > sent a request        N * it reached the store     N < its fate
  N + took a record         N - declined a record        N ? a reader was asked
  N ! told its user         = a row of the rule book";

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Lives through a run and prints one line per event.
pub(crate) fn trace(recording: &Recording) -> Outcome {
    println!("{LEGEND}\n\nsetup {}", recording.setup);
    recording.replay(&mut |action, news| {
        match action {
            Some(action) => println!("{action}"),
            None => println!("quiesce"),
        }
        for item in news {
            println!("    {item}");
        }
    })
}

/// Prints what came of a run; whether no rule was broken.
pub(crate) fn verdict(outcome: &Outcome) -> bool {
    match &outcome.violation {
        Some(violation) => println!("after {} steps: {violation}", outcome.steps),
        None => println!("{} steps, no rule broken, history {:016x}", outcome.steps, outcome.hash),
    }
    outcome.violation.is_none()
}

/// Prints which run caught which broken variant.
#[cfg(feature = "mutants")]
pub(crate) fn mutants(verdicts: &[(&str, Verdict)]) {
    let mut rows = table(["broken variant", "caught by seed", "rule", "panics with seed"]);
    for (name, Verdict { caught, panicked, .. }) in verdicts {
        let (seed, rule) = caught.map_or_else(|| ("none".to_owned(), ""), |(seed, rule)| (seed.to_string(), rule));
        let panicked = panicked.as_ref().map_or_else(String::new, |(seed, message)| format!("{seed}: {message}"));
        rows.add_row([(*name).to_owned(), seed, rule.to_owned(), panicked]);
    }
    println!("{rows}");
}

/// Prints what many runs have exercised.
pub(crate) fn summary(stats: &Stats, steps: u64, time: Duration) {
    let mut rules = table(["row of the rule book", "times"]);
    for row in ROWS {
        rules.add_row([(*row).to_owned(), stats.rules.get(row).copied().unwrap_or(0).to_string()]);
    }
    println!("{rules}");
    let mut fates = table(["fate", "get", "create", "part", "complete", "swap"]);
    for how in How::ALL {
        let count = |kind: Kind| stats.fates.get(&(kind, *how)).copied().unwrap_or(0).to_string();
        let kinds = [Kind::Get, Kind::Create, Kind::Part, Kind::Complete, Kind::Swap];
        fates.add_row(std::iter::once(how.to_string()).chain(kinds.map(count)));
    }
    println!("{fates}");
    let mut events = table(["event", "times"]);
    for (event, count) in &stats.events {
        events.add_row([(*event).to_owned(), count.to_string()]);
    }
    println!("{events}");
    let rate = u128::from(steps) * 1_000 / time.as_millis().max(1);
    println!("{steps} steps in {:.1} s, {rate} steps/s", time.as_secs_f64());
}

/// Prints what exhaustive searches have gone through.
pub(crate) fn searches(rows: &[Row]) {
    let mut searches = table(["from", "distinct states", "steps", "brought to rest", "complete", "s"]);
    for Row { from, found: report, time } in rows {
        let numbers = [report.states, report.steps, report.rests].map(|number| number.to_string());
        let [states, steps, rests] = numbers;
        let complete = if report.is_cut || report.failure.is_some() { "no" } else { "yes" };
        let seconds = format!("{:.1}", time.as_secs_f64());
        searches.add_row([from.clone(), states, steps, rests, complete.to_owned(), seconds]);
    }
    println!("{searches}");
}

/// Prints the table of crashes.
pub(crate) fn crashes(rows: &[crash::Row]) {
    let mut crashes = table(["crash after step", "writes in flight", "runs", "records after recovery"]);
    for row in rows {
        let after = row.after.map_or_else(|| "the start".to_owned(), |action| action.to_string());
        let in_flight: Vec<_> = row.in_flight.iter().map(ToString::to_string).collect();
        let (least, most) = row.records;
        let records = if least == most { least.to_string() } else { format!("{least} to {most}") };
        crashes.add_row([format!("{:>2} {after}", row.step), in_flight.join(" "), row.runs.to_string(), records]);
    }
    println!("{crashes}");
}
