//! The cases that the simulator is to show, by id: each is a test below, or a test or scenario elsewhere.
use bucketlog_sim::run::Recording;
use std::path::Path;

/// What shows a case.
enum Shown {
    /// A test function in a file.
    Test(&'static str, &'static str),
    /// A scenario in a file of scenarios, by the beginning of its title.
    Scenario(&'static str, &'static str),
    /// Nothing yet.
    Waits(&'static str),
}

use Shown::{Scenario, Test, Waits};

const HERE: &str = "sim/tests/it/cases.rs";
const CLAIM: &str = "core/tests/scenarios/claim.txt";
const COMMIT: &str = "core/tests/scenarios/commit.txt";
const BATCH: &str = "core/tests/scenarios/batch.txt";
const UPLOAD: &str = "core/tests/scenarios/upload.txt";
const READS: &str = "core/tests/it/reader_requests.rs";
const FAULTS: &str = "core/tests/it/reader_faults.rs";
const COSTS: &str = "runtime-blocking/tests/it/requests.rs";
const WAITERS: &str = "runtime-blocking/tests/it/waiters.rs";

const NO_RETENTION: &str = "no command applies retention";
const NO_RECLAIM: &str = "nothing is reclaimed";
const NO_REPLICA: &str = "there are no replicas";
const NO_MANIFEST: &str = "manifests of objwal and buffer are not read or written";
const NO_TAIL: &str = "there is no tailer";

/// Every case of kind `sim`; a case of several sides has several lines.
const CASES: &[(&str, Shown)] = &[
    ("A01", Scenario(COMMIT, "A01 ")),
    ("A03", Scenario(COMMIT, "A03 ")),
    ("A06", Scenario(COMMIT, "A06 ")),
    ("A06", Test(HERE, "a06_a_swap_that_lands_after_the_read_commits_once")),
    ("A08", Scenario(COMMIT, "A08 ")),
    ("A11", Waits(NO_RETENTION)),
    ("A17", Scenario(CLAIM, "A17 ")),
    ("A17", Test(HERE, "a17_a_claim_without_an_answer_takes_over_once")),
    ("A18", Scenario(COMMIT, "A18 ")),
    ("A18", Test(HERE, "a18_an_unreachable_head_ends_the_budget_in_doubt")),
    ("A19", Scenario(COMMIT, "A19 ")),
    ("A19", Test(HERE, "a19_a_commit_is_proven_before_the_fence_is_told")),
    ("A21", Scenario(COMMIT, "A21 ")),
    ("A21", Test(HERE, "a21_retention_past_a_commit_in_doubt_leaves_the_doubt")),
    ("A22", Waits(NO_MANIFEST)),
    ("A23", Waits(NO_MANIFEST)),
    ("A24", Scenario(COMMIT, "A24 ")),
    ("A24", Test(HERE, "a24_a_self_takeover_that_finds_a_rival_stops")),
    ("A26", Scenario(COMMIT, "A26 ")),
    ("A27", Scenario(COMMIT, "A27 ")),
    ("A28", Scenario(COMMIT, "A28 ")),
    ("A29", Waits(NO_MANIFEST)),
    ("D07", Test("runtime-blocking/tests/it/drops.rs", "a_drop_does_not_wait_for_a_request_under_way")),
    ("D08", Scenario(COMMIT, "D08 ")),
    ("E01", Scenario(COMMIT, "E01 ")),
    ("E05", Waits(NO_RECLAIM)),
    ("E06", Waits(NO_RECLAIM)),
    ("E08", Waits(NO_RECLAIM)),
    ("E10", Test(FAULTS, "a_segment_that_retention_removed_under_a_reader_has_expired")),
    ("E11", Test(FAULTS, "a_segment_that_the_head_refers_to_and_that_is_gone_is_corrupt_by_name")),
    ("E17", Scenario(CLAIM, "E17 ")),
    ("E17", Test(HERE, "e17_who_loses_the_race_names_the_winner_and_the_world_comes_to_rest")),
    ("E18", Scenario(BATCH, "E18 the fence")),
    ("E18", Test(WAITERS, "e18_a_fence_answers_everyone_and_a_blocked_flush")),
    ("E18", Test(WAITERS, "e18_an_abort_answers_everyone")),
    ("E18", Test(WAITERS, "e18_a_drop_answers_everyone")),
    ("E19", Test(READS, "a_reader_only_reads_and_decodes")),
    ("E19", Test(COSTS, "e19_readers_never_write")),
    ("E20", Scenario(COMMIT, "E20 ")),
    ("E20", Test(HERE, "e20_a_head_that_was_put_back_is_refused")),
    ("E22", Scenario(BATCH, "E22 ")),
    ("F01", Scenario(COMMIT, "F01 ")),
    ("F02", Scenario(UPLOAD, "F02 ")),
    ("F05", Scenario(CLAIM, "F05 ")),
    ("H01", Test(COSTS, "h01_nothing_is_ever_listed_deleted_or_asked_for_its_size")),
    ("H02", Test(COSTS, "h02_an_idle_writer_or_reader_makes_no_request")),
    ("H02", Waits(NO_TAIL)),
    ("H05", Test(READS, "a_read_loads_ahead_in_parallel_and_delivers_in_order")),
    ("H06", Scenario(COMMIT, "H06 ")),
    ("H07", Scenario(COMMIT, "H07 ")),
    ("J01", Waits(NO_REPLICA)),
    ("J02", Waits(NO_REPLICA)),
    ("J03", Waits(NO_MANIFEST)),
    ("J06", Scenario(BATCH, "J06 ")),
    ("J07", Test(WAITERS, "e18_a_refusal_answers_everyone_and_a_blocked_append_and_flush")),
    ("J08", Scenario(BATCH, "J08 ")),
    ("J08", Test(WAITERS, "j08_the_age_cut_and_a_flush_answer_each_other_s_waiters")),
    ("J10", Test(HERE, "j10_a_log_begun_anew_is_told_from_a_rival_s")),
];

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn what_is_said_to_show_a_case_exists() {
    for (id, shown) in CASES {
        let (file, needle) = match shown {
            Test(file, name) => (file, format!("fn {name}()")),
            Scenario(file, title) => (file, format!("\n== {title}")),
            Waits(reason) => {
                println!("{id} waits: {reason}");
                continue;
            }
        };
        let found = format!("\n{}", text(&root().join(file)));
        assert!(found.contains(&needle), "{id}: {file} has no {needle:?}");
    }
}

#[test]
fn every_case_for_the_simulator_is_in_the_table() {
    let Ok(list) = std::fs::read_to_string(root().join("../shared/cases/README.md")) else {
        println!("skipped: ../shared/cases is absent");
        return;
    };
    let mut rows = 0;
    for line in list.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, _, _, how] = cells[..] else { continue };
        if how.split(", ").any(|how| how == "sim") {
            rows += 1;
            assert!(CASES.iter().any(|(known, _)| *known == id), "{line}");
        }
    }
    assert!(rows > 40, "{rows} rows of the list were understood");
}

/// Lives through a run that breaks no rule, and gives all that happened, line by line.
fn events(steps: &str) -> Vec<String> {
    let recording: Recording = steps.parse().unwrap();
    let mut lines = Vec::new();
    let outcome = recording.replay(&mut |_, news| lines.extend(news.iter().map(ToString::to_string)));
    assert_eq!(outcome.violation, None, "{lines:#?}");
    assert_eq!(outcome.steps, recording.actions.len() as u64, "some steps were impossible: {lines:#?}");
    lines
}

#[track_caller]
fn has(lines: &[String], wanted: &[&str]) {
    let mut rest = lines.iter();
    for wanted in wanted {
        assert!(rest.any(|line| line.contains(wanted)), "{wanted:?} is missing or out of order: {lines:#?}");
    }
}

/// Writer 0 is open, and the swap that commits its first record is on its way.
const SWAPPING: &str = "answer 0 get.0 done\nanswer 0 swap.0 done\nappend 0\ncut 0\nanswer 0 create.0 done\n";

#[test]
fn a06_a_swap_that_lands_after_the_read_commits_once() {
    let lines = events(&format!(
        "setup versions=unique tuning=32\n{SWAPPING}
        answer 0 swap.0 astray\nanswer 0 get.0 done\nland 0\ntick 0
        answer 0 swap.0 done\nanswer 0 get.0 done\nquiesce"
    ));
    has(&lines, &["swap done, late", "= repeat", "committed by read", "committed below 1"]);
}

#[test]
fn a17_a_claim_without_an_answer_takes_over_once() {
    let lines = events(
        "setup versions=unique tuning=0
        answer 0 get.0 done\nanswer 0 swap.0 lost\ntick 0\nanswer 0 get.0 done\nquiesce",
    );
    has(&lines, &["claim found by read", "0 ! opened epoch 1 at 0"]);
}

#[test]
fn a18_an_unreachable_head_ends_the_budget_in_doubt() {
    let lines = events(&format!(
        "setup versions=unique tuning=32 temper=7\n{SWAPPING}
        answer 0 swap.0 lost\ntick 0\ntick 0\ntick 0\nquiesce"
    ));
    has(&lines, &["0 ! halted at 0/1/1", "budget spent, commit in doubt"]);
}

#[test]
fn a19_a_commit_is_proven_before_the_fence_is_told() {
    let lines = events(&format!(
        "setup versions=unique tuning=32\n{SWAPPING}
        answer 0 swap.0 lost\nstart-writer 0\nanswer 1 get.0 done\nanswer 1 swap.0 done\nanswer 0 get.0 done\nquiesce"
    ));
    has(
        &lines,
        &["1 ! opened epoch 2 at 1", "0 ! committed below 1", "0 ! halted at 1/1/1", "committed, then superseded"],
    );
}

#[test]
fn a21_retention_past_a_commit_in_doubt_leaves_the_doubt() {
    let lines = events(&format!(
        "setup versions=unique tuning=32\n{SWAPPING}
        answer 0 swap.0 lost\nstart-writer 0\nanswer 1 get.0 done\nanswer 1 swap.0 done
        append 1\ncut 1\nanswer 1 create.0 done\nanswer 1 create.0 done\nanswer 1 swap.0 done\nrival-trim 0\nanswer 0 get.0 done\nquiesce"
    ));
    has(&lines, &["0 ! halted at 0/1/1: retention moved", "retention passed"]);
}

#[test]
fn a24_a_self_takeover_that_finds_a_rival_stops() {
    let lines = events(&format!(
        "setup versions=unique tuning=0\n{SWAPPING}
        answer 0 swap.0 astray\nanswer 0 get.0 done\ntick 0
        start-writer 0\nanswer 1 get.0 done\nanswer 1 swap.0 done\nanswer 0 swap.0 done\nanswer 0 get.0 done\nquiesce"
    ));
    has(&lines, &["self-takeover begun", "1 ! opened epoch 2", "0 ! halted at 0/0/1", "lost after a doubt"]);
    assert!(!lines.iter().any(|line| line.contains("0 ! renewed")), "{lines:#?}");
}

#[test]
fn e17_who_loses_the_race_names_the_winner_and_the_world_comes_to_rest() {
    let race = "start-writer 0\nanswer 0 get.0 done\nanswer 1 get.0 done\nanswer 1 swap.0 done\nanswer 0 swap.0 done\nanswer 0 get.0 done\n";
    let lines = events(&format!("setup versions=unique tuning=0 temper=24\n{race}quiesce"));
    has(&lines, &["1 ! opened epoch 1", "0 ! halted at 0/0/0: the claim was lost 1 times", "races lost"]);
    assert!(lines.iter().any(|line| line.ends_with("at epoch 1") && line.contains("last to writer")), "{lines:#?}");
    let lines = events(&format!("setup versions=unique tuning=0\n{race}quiesce"));
    has(&lines, &["1 ! opened epoch 1", "0 ! opened epoch 2"]);
}

#[test]
fn e20_a_head_that_was_put_back_is_refused() {
    let lines = events(&format!(
        "setup versions=unique tuning=32\n{SWAPPING}
        answer 0 swap.0 done\nrestore 0\nappend 0\ncut 0\nanswer 0 create.0 done\nanswer 0 create.0 done\nanswer 0 swap.0 done
        answer 0 get.0 done\nquiesce"
    ));
    has(&lines, &["committed below 1", "went back from generation 2 to 1", "older head refused"]);
}

#[test]
fn j10_a_log_begun_anew_is_told_from_a_rival_s() {
    let lines = events(&format!(
        "setup versions=unique tuning=32\n{SWAPPING}
        delete-head 0\nstart-writer 0\nanswer 1 get.0 done\nanswer 1 swap.0 done
        answer 0 swap.0 done\nanswer 0 get.0 done\nquiesce"
    ));
    has(&lines, &["1 ! opened epoch 1 at 0", "0 ! halted at 0/1/1: the head", "head gone, commit in doubt"]);
}
