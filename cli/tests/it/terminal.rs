//! The progress bar, on a terminal made by `script`.
use crate::log::Log;
use crate::run::run;
use std::process::Command;

#[test]
fn a_terminal_gets_a_progress_bar_with_rate_and_eta() {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: the program `script` is not installed");
        return;
    }
    let log = Log::new();
    let text = log.path().join("text");
    std::fs::write(&text, "a line of text\n".repeat(300_000)).expect("a file");
    let append = log.command("append");
    let words = std::iter::once(append.get_program()).chain(append.get_args()).chain([text.as_os_str()]);
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    // The terminal is stdout of `script`; -e passes the exit code on.
    let shown =
        run(Command::new("script").args(["-qec", &line.join(" "), "/dev/null"]).env("TERM", "xterm")).ok().text();
    for part in ["%", "MiB/s", "ETA", "appended 300,000 records"] {
        assert!(shown.contains(part), "{part} in {shown:?}");
    }
}
