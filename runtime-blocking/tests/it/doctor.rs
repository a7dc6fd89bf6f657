//! The doctor finds what conformance checks find, names who must not rely on it, and leaves nothing behind.
use crate::flawed::{Flaw, Flawed};
use bucketlog_blocking::store::conformance::Races;
use bucketlog_blocking::store::doctor::{CAPABILITIES, Diagnosis, Need, Verdict, examine};
use bucketlog_blocking::store::{LocalDir, Memory, Store};
use bucketlog_core::boundary::{
    Create, CreateReply, Delete, Fault, Get, GetReply, Key, List, ListReply, RefusalKind, Stat, StatReply, Swap,
    SwapReply,
};
use std::time::{Duration, Instant};

/// As many as [`Flawed`] lets meet.
const RACES: Races = Races { racers: 16, rounds: 2 };

fn diagnose(store: &dyn Store) -> Diagnosis {
    examine(store, "scratch", RACES, |_| {})
}

#[track_caller]
fn verdict<'a>(diagnosis: &'a Diagnosis, capability: &str) -> &'a Verdict {
    &diagnosis.findings.iter().find(|finding| finding.capability.name == capability).expect("examined").verdict
}

fn keys(store: &dyn Store) -> Vec<Key> {
    let list = List { prefix: Key::from(""), after: None, limit: 1_000 };
    let listed = store.list(&list, Instant::now() + Duration::from_secs(30)).expect("a listing");
    listed.objects.into_iter().map(|row| row.key).collect()
}

#[test]
fn our_stores_are_fit_for_everything_and_stay_empty() {
    let dir = tempfile::tempdir().unwrap();
    let stores: [&dyn Store; 2] = [&Memory::new(), &LocalDir::open(dir.path()).unwrap()];
    for store in stores {
        let diagnosis = diagnose(store);
        assert!(diagnosis.is_fit_for(Need::Upkeep), "{diagnosis:?}");
        assert_eq!(diagnosis.findings.len(), CAPABILITIES.len());
        assert_eq!(keys(store), []);
    }
}

/// B09, B10: a store that ignores conditions, and one that holds them except in a race.
#[test]
fn a_store_that_breaks_a_promise_of_writers_is_unfit_for_writing() {
    for (flaw, capability) in [
        (Flaw::CreateOverwrites, "create if absent"),
        (Flaw::CreateChecksThenActs, "racing creates"),
        (Flaw::SwapIgnoresVersion, "compare and swap"),
        (Flaw::SwapIgnoresVersion, "racing swaps"),
    ] {
        let diagnosis = diagnose(&Flawed::new(flaw));
        assert!(matches!(verdict(&diagnosis, capability), Verdict::Broken(_)), "{flaw:?}: {diagnosis:?}");
        assert!(!diagnosis.is_fit_for(Need::Writing), "{flaw:?}");
        assert!(diagnosis.is_fit_for(Need::Reading), "{flaw:?}: {diagnosis:?}");
    }
}

#[test]
fn versions_that_never_change_make_a_store_unfit_even_for_readers() {
    let diagnosis = diagnose(&Flawed::new(Flaw::SwapKeepsVersion));
    assert!(matches!(verdict(&diagnosis, "versions change"), Verdict::Broken(_)), "{diagnosis:?}");
    assert!(!diagnosis.is_fit_for(Need::Reading));
}

#[test]
fn a_flaw_of_listings_concerns_upkeep_only() {
    let diagnosis = diagnose(&Flawed::new(Flaw::ListDescends));
    assert!(diagnosis.is_fit_for(Need::Writing));
    assert!(!diagnosis.is_fit_for(Need::Upkeep));
}

/// A store that refuses some operations.
#[derive(Debug)]
struct Refusing {
    memory: Memory,
    refused: &'static [&'static str],
    kind: RefusalKind,
}

impl Refusing {
    fn pass(&self, operation: &str) -> Result<(), Fault> {
        if self.refused.contains(&operation) { Err(Fault::refused(self.kind.clone(), "by policy")) } else { Ok(()) }
    }
}

impl Store for Refusing {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        self.pass("get")?;
        self.memory.get(request, until)
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        self.pass("stat")?;
        self.memory.stat(request, until)
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        self.pass("list")?;
        self.memory.list(request, until)
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        self.pass("delete")?;
        self.memory.delete(request, until)
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        self.pass("create")?;
        self.memory.create(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        self.pass("swap")?;
        self.memory.swap(request, until)
    }
}

#[test]
fn a_missing_permission_is_named() {
    let store = Refusing { memory: Memory::new(), refused: &["list", "delete"], kind: RefusalKind::Denied };
    let diagnosis = diagnose(&store);
    assert!(matches!(verdict(&diagnosis, "listing"), Verdict::Denied { permission: "s3:ListBucket", .. }));
    assert!(matches!(verdict(&diagnosis, "deletion"), Verdict::Denied { permission: "s3:DeleteObject", .. }));
    assert!(diagnosis.is_fit_for(Need::Writing));
}

#[test]
fn what_can_not_be_tried_is_not_called_broken() {
    let store = Refusing { memory: Memory::new(), refused: &["create", "swap"], kind: RefusalKind::Denied };
    let diagnosis = diagnose(&store);
    assert!(matches!(verdict(&diagnosis, "create if absent"), Verdict::Denied { .. }));
    assert!(matches!(verdict(&diagnosis, "range reads"), Verdict::NotTried(_)));
    assert!(diagnosis.findings.iter().all(|finding| !matches!(finding.verdict, Verdict::Broken(_))), "{diagnosis:?}");
}

#[test]
fn an_operation_that_the_store_lacks_is_unsupported() {
    let store = Refusing { memory: Memory::new(), refused: &["swap"], kind: RefusalKind::Unsupported };
    let diagnosis = diagnose(&store);
    assert!(matches!(verdict(&diagnosis, "compare and swap"), Verdict::Unsupported(_)));
    assert!(!diagnosis.is_fit_for(Need::Writing));
}
