//! Runs worth keeping: each once broke a rule, or shows a case that must stay as it is.
use bucketlog_sim::run::Recording;
use std::path::{Path, PathBuf};

pub(crate) fn recordings(folder: &str) -> Vec<(PathBuf, Recording)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "txt")).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).unwrap().parse().unwrap())).collect()
}

#[test]
fn every_kept_run_breaks_no_rule_and_does_all_its_steps() {
    let recordings = recordings("corpus");
    assert!(!recordings.is_empty());
    for (file, recording) in recordings {
        let outcome = recording.replay(&mut |_, _| {});
        assert_eq!(outcome.violation, None, "{}", file.display());
        assert_eq!(outcome.steps, recording.actions.len() as u64, "{}: some steps were impossible", file.display());
    }
}
