//! Completions, manual pages, help and wrong usage.
use crate::run::{bucketlog, run};

#[test]
fn every_shell_gets_completions_that_name_the_subcommands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(bucketlog().args(["completions", shell])).ok().text();
        assert!(script.contains("inspect") && script.contains("partition"), "{shell}: {script}");
    }
}

#[test]
fn the_manual_has_a_main_page_and_one_of_each_subcommand() {
    let page = run(bucketlog().arg("man")).ok().text();
    assert!(page.contains(".TH bucketlog 1"), "{page}");
    let page = run(bucketlog().args(["man", "inspect"])).ok().text();
    assert!(page.contains(".TH bucketlog-inspect 1") && page.contains("records"), "{page}");
    let wrong = run(bucketlog().args(["man", "nothing"]));
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("inspect"), "{wrong:?}");
}

#[test]
fn help_goes_to_stdout_and_wrong_usage_to_stderr_with_exit_code_2() {
    let help = run(bucketlog().arg("--help")).ok();
    assert!(help.text().contains("inspect") && help.stderr.is_empty(), "{help:?}");
    for args in [&["inspect"][..], &["no-such-thing"], &["inspect", "x", "--no-such-flag"]] {
        let wrong = run(bucketlog().args(args));
        assert_eq!((wrong.code, wrong.stdout.len()), (2, 0), "{args:?}: {wrong:?}");
        assert!(wrong.stderr.contains("Usage"), "{args:?}: {wrong:?}");
    }
}
