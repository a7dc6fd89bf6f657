//! Broken variants of the protocol.
use crate::MutantsArgs;
use std::error::Error;

#[cfg(feature = "mutants")]
pub(crate) fn run(args: &MutantsArgs) -> Result<bool, Box<dyn Error>> {
    use super::{cores, json, report, write};
    use bucketlog_sim::mutants::{MUTANTS, Pins, try_all};
    use indicatif::{ProgressBar, ProgressStyle};
    // What a variant that panics has to say stands in the table.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(name) = &args.show {
        return show(name, args.seeds);
    }
    let bar = ProgressBar::new(MUTANTS.len() as u64);
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} variants, {eta} left")?);
    let pins = if args.pin.is_some() { Pins::default() } else { Pins::kept() };
    let verdicts = try_all(args.seeds, &pins, cores(), &|| bar.inc(1));
    bar.finish_and_clear();
    if args.json {
        println!("{}", json::mutants(&verdicts));
    } else {
        report::mutants(&verdicts);
        println!("to see the run that catches one:  bucketlog-sim mutants --show NAME");
    }
    if let Some(file) = &args.pin {
        write(file, &Pins::text(&verdicts))?;
    }
    Ok(verdicts.iter().all(|(_, verdict)| verdict.caught.is_some()))
}

/// Shows the run that catches a variant; whether there is one.
#[cfg(feature = "mutants")]
fn show(name: &str, seeds: u64) -> Result<bool, Box<dyn Error>> {
    use super::report;
    use bucketlog_sim::mutants::{MUTANTS, Pins, STEPS, try_one, with};
    use bucketlog_sim::run::seeded;
    let known = MUTANTS.iter().find(|known| **known == name);
    let name = known.ok_or_else(|| format!("{name:?} is no broken variant; `mutants` lists them"))?;
    let Some((seed, _)) = try_one(name, seeds, Pins::kept().seed(name)).caught else {
        println!("no run of {seeds} breaks a rule");
        return Ok(false);
    };
    with(name, || {
        let short = seeded(seed, STEPS, |_| true, &mut |_, _| {}).0.minimised();
        report::verdict(&report::trace(&short));
    });
    println!("to replay:  bucketlog-sim mutants --show {name:?}");
    Ok(true)
}

#[cfg(not(feature = "mutants"))]
pub(crate) fn run(_: &MutantsArgs) -> Result<bool, Box<dyn Error>> {
    Err("this build has no broken variants: use cargo run --release -p bucketlog-sim --features mutants -- mutants"
        .into())
}
