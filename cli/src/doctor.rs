//! `bucketlog doctor`: whether a store does what a log relies on.
use crate::args::{DoctorArgs, LogArgs};
use crate::failure::Failure;
use crate::json;
use crate::show::table;
use crate::store::{open, store_url};
use bucketlog_blocking::now;
use bucketlog_blocking::store::conformance::Races;
use bucketlog_blocking::store::doctor::{CAPABILITIES, Diagnosis, Finding, Need, examine};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

/// Finds a store that loses about one race in twenty.
const THOROUGH: Races = Races { racers: 32, rounds: 20 };
const QUICK: Races = Races { racers: 8, rounds: 5 };

pub(crate) fn run(args: &DoctorArgs, log: &LogArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (store, url) = (open(log, false)?, store_url(log)?);
    let bar = progress();
    // Runs at the same time, and what an earlier one left, must not meet.
    let scratch = format!("{}/{}-{}", args.scratch, now().0, std::process::id());
    let races = if args.quick { QUICK } else { THOROUGH };
    let diagnosis = examine(&*store, &scratch, races, |finding| {
        bar.inc(1);
        bar.set_message(finding.capability.name);
    });
    bar.finish_and_clear();
    if log.json {
        json::write_line(out, &Report::new(&url, &diagnosis))?;
    } else {
        print(&url, &diagnosis, out)?;
    }
    verdict(&diagnosis)
}

fn progress() -> ProgressBar {
    let bar = ProgressBar::new(CAPABILITIES.len() as u64);
    let style = ProgressStyle::with_template("{bar:20} {pos} of {len}  {elapsed}  {wide_msg}");
    // The template is a constant that parses.
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

fn verdict(diagnosis: &Diagnosis) -> Result<(), Failure> {
    let Some(worst) = diagnosis.faults(Need::Writing).next() else { return Ok(()) };
    let what = format!(
        "no log should be written to this store: {}: otherwise {}",
        worst.capability.name, worst.capability.otherwise
    );
    let help = "grant the missing permission, use another store, or tell the store's maker what was found";
    Err(Failure::new("unfit_store", what, help))
}

fn print(url: &str, diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = table(&["capability", "needed for", "verdict"]);
    for Finding { capability, verdict } in &diagnosis.findings {
        rows.add_row([capability.name, capability.need.name(), verdict.name()]);
    }
    writeln!(out, "{url}\n\n{rows}")?;
    for Finding { capability, verdict } in diagnosis.faults(Need::Upkeep) {
        writeln!(out, "\n{}: {}", capability.name, verdict.detail())?;
        writeln!(out, "  without it {}", capability.otherwise)?;
    }
    let fit = fit_for(diagnosis);
    writeln!(out, "\nfit for: {}", if fit.is_empty() { "nothing".to_owned() } else { fit.join(", ") })
}

fn fit_for(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let needs = [Need::Reading, Need::Writing, Need::Upkeep];
    needs.into_iter().filter(|need| diagnosis.is_fit_for(*need)).map(Need::name).collect()
}

#[derive(Serialize)]
struct Report<'a> {
    store: &'a str,
    fit_for: Vec<&'static str>,
    findings: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    capability: &'static str,
    needed_for: &'static str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
}

impl<'a> Report<'a> {
    fn new(store: &'a str, diagnosis: &Diagnosis) -> Self {
        let row = |Finding { capability, verdict }: &Finding| Row {
            capability: capability.name,
            needed_for: capability.need.name(),
            verdict: verdict.name(),
            detail: verdict.detail(),
        };
        Self { store, fit_for: fit_for(diagnosis), findings: diagnosis.findings.iter().map(row).collect() }
    }
}
