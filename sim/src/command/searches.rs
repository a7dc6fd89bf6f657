//! Exhaustive searches, and crashes at every step.
use super::{Kept, json, read, report};
use crate::{ExhaustArgs, allowed};
use bucketlog_sim::crash;
use bucketlog_sim::exhaust::{self, Report};
use bucketlog_sim::setup::{Knob, Weights};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

/// One search.
pub(super) struct Row {
    pub(super) from: String,
    pub(super) found: Report,
    pub(super) time: Duration,
}

pub(crate) fn exhaust(args: &ExhaustArgs) -> Result<bool, Box<dyn Error>> {
    let allowed = allowed(&args.faults)?;
    let mut weights = Weights::calm();
    for knob in Knob::all().filter(|knob| knob.is_fault()) {
        weights.set(knob, u32::from(allowed(knob)));
    }
    let (mut rows, mut kept) = (Vec::new(), None);
    for file in &args.prepared {
        let begin = Instant::now();
        let found = exhaust::exhaust(&read(file)?, &weights, args.depth, args.states);
        let failure = found.failure.clone();
        rows.push(Row { from: file.display().to_string(), found, time: begin.elapsed() });
        if let Some((recording, violation)) = failure {
            kept = Some(Kept::keep(&args.save, &recording, violation)?);
            break;
        }
    }
    if args.json {
        println!("{}", json::searches(args.depth, &rows, kept.as_ref()));
    } else {
        report::searches(&rows);
        match &kept {
            Some(kept) => kept.show(),
            None => println!("to see a prepared state:  bucketlog-sim replay FILE"),
        }
    }
    Ok(kept.is_none())
}

pub(crate) fn crashes(file: &Path, save: &Path) -> Result<bool, Box<dyn Error>> {
    match crash::enumerate(&read(file)?) {
        Ok(rows) => {
            report::crashes(&rows);
            println!("to see the script:  bucketlog-sim replay {}", file.display());
            Ok(true)
        }
        Err(failure) => {
            Kept::keep(save, &failure.recording, failure.violation)?.show();
            Ok(false)
        }
    }
}
