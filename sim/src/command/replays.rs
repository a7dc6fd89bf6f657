//! Recorded runs: lived through again, made short.
use super::{read, report, write};
use bucketlog_sim::check::history::History;
use bucketlog_sim::run::Recording;
use std::error::Error;
use std::path::Path;

pub(crate) fn replay(file: &Path, quiet: bool, history: Option<&Path>) -> Result<bool, Box<dyn Error>> {
    let recording = read(file)?;
    if let Some(path) = history {
        save_history(&recording, path)?;
    }
    let outcome = if quiet { recording.replay(&mut |_, _| {}) } else { report::trace(&recording) };
    let holds = report::verdict(&outcome);
    if !holds {
        println!("to make it short:  bucketlog-sim minimise {}", file.display());
    }
    Ok(holds)
}

pub(crate) fn minimise(file: &Path) -> Result<bool, Box<dyn Error>> {
    let small = read(file)?.minimised();
    print!("{small}");
    let holds = report::verdict(&small.replay(&mut |_, _| {}));
    println!("to see it:  store the lines above, then  bucketlog-sim replay FILE");
    Ok(holds)
}

fn save_history(recording: &Recording, file: &Path) -> Result<(), Box<dyn Error>> {
    let mut seen = History::default();
    recording.replay(&mut |_, news| seen.add(news));
    write(file, &seen.to_jsonl())
}
