//! What a reader does when objects are gone, changed, damaged, or out of reach.
use crate::reader_kit::{Bucket, Log, World, ranged};
use bucketlog_core::backoff::Backoff;
use bucketlog_core::boundary::{Command, Fault, Get, GetReply, Key, Machine, RefusalKind};
use bucketlog_core::format::segment::Codec;
use bucketlog_core::format::{FormatError, FormatErrorKind, Section};
use bucketlog_core::ids::{Generation, Lsn, WriterId};
use bucketlog_core::reader::{Answer, Freshness, ReadError, ReadLimit, ReaderOptions};
use std::time::Duration;

/// Nine segments of two records under fan-outs of two: pages of three levels.
fn log() -> Log {
    let mut log = Log::new(2, 2, Codec::Zstd);
    log.commit_all(&[2; 9]);
    log
}

fn throttled(wait: Option<Duration>) -> Fault {
    Fault::refused(RefusalKind::Throttled(wait), "slow down")
}

/// The first `times` reads of keys that contain `part` fail.
fn fail_first(world: &mut World, part: &'static str, mut times: u32, fault: Fault) {
    world.interference = Box::new(move |get, _| {
        let hit = times > 0 && get.key.as_str().contains(part);
        times -= u32::from(hit);
        hit.then(|| Err(fault.clone()))
    });
}

/// Deletes objects that are there.
fn delete(log: &mut Log, keys: impl IntoIterator<Item = String>) {
    for key in keys {
        assert!(log.bucket.objects.remove(&key).is_some(), "{key} was there");
    }
}

fn keys_with(log: &Log, part: &str) -> Vec<String> {
    log.bucket.objects.keys().filter(|key| key.contains(part)).cloned().collect()
}

fn segment_key_of(log: &Log, lsn: u64) -> String {
    keys_with(log, &format!("/seg-{lsn:020}")).remove(0)
}

/// F05.
#[test]
fn a_fault_that_may_pass_is_overcome_by_repeating_with_growing_pauses() {
    let faults = [throttled(None), Fault::not_sent("no route"), Fault::indeterminate("reset")];
    for fault in faults.into_iter().chain([Fault::refused(RefusalKind::Conflict, "busy")]) {
        for part in ["head.plc", "/pages/", "/segments/"] {
            let mut world = log().reader(ReaderOptions::default());
            fail_first(&mut world, part, 4, fault.clone());
            assert_eq!(world.fetch(0).unwrap(), world.log.records[0]);
            let passed = Duration::from_nanos(world.now.mono.0);
            let pauses = Duration::from_millis(50 + 100 + 200 + 400);
            assert!(pauses / 2 <= passed && passed <= pauses, "{passed:?} for {part} after {fault}");
        }
    }
}

/// F02.
#[test]
fn a_store_that_says_how_long_to_wait_is_heeded() {
    let mut world = log().reader(ReaderOptions::default());
    fail_first(&mut world, "head.plc", 1, throttled(Some(Duration::from_secs(7))));
    world.head(Freshness::Latest).unwrap();
    assert_eq!(world.now.mono.0, 7_000_000_000);
}

#[test]
fn pauses_never_pass_their_maximum() {
    let backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(2) };
    let mut world = log().reader(ReaderOptions { backoff, ..ReaderOptions::default() });
    fail_first(&mut world, "head.plc", 10, throttled(None));
    world.head(Freshness::Latest).unwrap();
    let passed = Duration::from_nanos(world.now.mono.0);
    assert!(passed <= Duration::from_secs(19), "{passed:?}");
}

#[test]
fn a_call_gives_up_when_its_budget_is_spent() {
    let mut world = log().reader(ReaderOptions { budget: Duration::from_secs(3), ..ReaderOptions::default() });
    fail_first(&mut world, "/segments/", u32::MAX, Fault::not_sent("no route"));
    let error = world.fetch(0).unwrap_err();
    let ReadError::Unreachable { key, attempts, fault } = error else { panic!("{error}") };
    assert_eq!(key.as_str(), segment_key_of(&world.log, 0));
    assert_eq!(fault, Fault::not_sent("no route"));
    assert!((5..=9).contains(&attempts), "{attempts}");
    assert_eq!(world.now.mono.0, 3_000_000_000);
    world.settle();
    assert_eq!(world.reader.deadline(), None, "nothing is left of the call");
}

#[test]
fn a_request_that_is_never_answered_is_repeated_and_its_late_answer_ignored() {
    let options = ReaderOptions { request_timeout: Duration::from_secs(2), ..ReaderOptions::default() };
    let mut world = log().reader(options);
    let call = world.reader.fetch(Lsn(0));
    let Some(Command::Get(op)) = world.poll().pop() else { panic!("the head is asked for") };
    let (_, ticket) = op.split();
    assert_eq!(world.wait(call).unwrap(), Answer::Record(world.log.records[0].clone()));
    assert!(world.now.mono.0 >= 2_000_000_000);
    let before = world.reader.clone();
    world.reader.complete(world.now, ticket.done(Err(Fault::refused(RefusalKind::Denied, "late"))));
    assert_eq!(world.reader.late_answers(), before.late_answers() + 1);
    assert!(world.poll().is_empty());
    assert_eq!(world.fetch(0).unwrap(), world.log.records[0]);
}

#[test]
fn a_refusal_for_good_is_told_at_once() {
    for kind in [RefusalKind::Denied, RefusalKind::Unsupported] {
        for (part, before) in [("head.plc", 0), ("/pages/", 1), ("/segments/", 4)] {
            let mut world = log().reader(ReaderOptions::default());
            fail_first(&mut world, part, 1, Fault::refused(kind.clone(), "no"));
            let error = world.fetch(6).unwrap_err();
            assert!(matches!(&error, ReadError::Refused { key, .. } if key.as_str().contains(part)), "{error}");
            assert_eq!(world.requests().iter().sum::<usize>(), before, "requests before the one that is refused");
            assert_eq!(world.now.mono.0, 0, "no pause");
        }
    }
}

#[test]
fn a_missing_head_reads_as_an_empty_partition_until_there_is_one() {
    let full = log();
    let mut world = log().reader(ReaderOptions::default());
    world.log.bucket.objects.clear();
    assert_eq!(world.fetch(0).unwrap_err(), ReadError::NotYet { requested: Lsn(0), next: Lsn(0) });
    let head = world.head(Freshness::Cached).unwrap();
    assert_eq!((head.next_lsn, head.writer_epoch.0), (Lsn(0), 0));
    world.log = full;
    assert_eq!(world.read(0, 3).unwrap().records, world.log.expected(0, 3));
}

#[test]
fn a_head_that_was_there_and_is_gone_is_told_so() {
    let mut world = log().reader(ReaderOptions::default());
    world.head(Freshness::Latest).unwrap();
    let key = world.log.keys.head().to_owned();
    delete(&mut world.log, [key.clone()]);
    assert_eq!(world.head(Freshness::Latest).unwrap_err(), ReadError::HeadGone { key: Key::from(key) });
    assert!(world.head(Freshness::Cached).is_ok());
}

/// E20.
#[test]
fn an_older_head_is_refused_and_told_apart_from_corruption() {
    let old = log();
    let mut world = log().reader(ReaderOptions::default());
    world.log.commit_all(&[1]);
    let seen = world.head(Freshness::Latest).unwrap().generation;
    world.log.bucket.put(old.keys.head(), old.head.encode());
    let found = old.head.generation;
    assert_eq!(world.head(Freshness::Latest).unwrap_err(), ReadError::RolledBack { seen, found });
    assert_eq!(world.fetch(100).unwrap_err(), ReadError::RolledBack { seen, found });
    assert!(found < seen && found > Generation(0));
    assert_eq!(world.fetch(18).unwrap(), world.log.records[18], "what was committed stays readable");
}

#[test]
fn a_head_of_another_log_is_corrupt() {
    let mut world = log().reader(ReaderOptions::default());
    let mut foreign = world.log.head.clone();
    foreign.identity.partition.0 += 1;
    world.log.bucket.put(world.log.keys.head(), foreign.encode());
    let error = world.head(Freshness::Latest).unwrap_err();
    assert!(matches!(&error, ReadError::Corrupt { key, .. } if key.as_str() == world.log.keys.head()), "{error}");
    assert_eq!(world.requests(), [2, 0, 0], "one more look, then the verdict");
}

/// E10.
#[test]
fn a_segment_that_retention_removed_under_a_reader_has_expired() {
    for options in [ReaderOptions::default(), ranged()] {
        let mut world = log().reader(options);
        world.head(Freshness::Latest).unwrap();
        world.log.trim(6);
        for lsn in [0, 2, 4] {
            let key = segment_key_of(&world.log, lsn);
            delete(&mut world.log, [key]);
        }
        let wanted = ReadError::Expired { requested: Lsn(3), oldest: Lsn(6), next: Lsn(18) };
        assert_eq!(world.fetch(3).unwrap_err(), wanted);
    }
}

#[test]
fn retention_that_passes_between_the_second_look_and_the_retry_is_still_seen() {
    let mut world = log().reader(ReaderOptions::default());
    world.head(Freshness::Latest).unwrap();
    let mut trimmed = world.log.clone();
    trimmed.trim(6);
    let segment = segment_key_of(&world.log, 2);
    let mut failures = 0;
    world.interference = Box::new(move |get: &Get, bucket: &mut Bucket| {
        if get.key.as_str() != segment {
            return None;
        }
        failures += 1;
        if failures == 2 {
            bucket.put(trimmed.keys.head(), trimmed.head.encode());
        }
        Some(Err(Fault::refused(RefusalKind::NotFound, "gone")))
    });
    let wanted = ReadError::Expired { requested: Lsn(3), oldest: Lsn(6), next: Lsn(18) };
    assert_eq!(world.fetch(3).unwrap_err(), wanted);
}

fn gone(segment: &str) -> ReadError {
    let detail = "the object is gone although the log refers to it";
    let error = FormatError::new(FormatErrorKind::Missing, Section::SegmentTrailer, 0, detail);
    ReadError::Corrupt { key: Key::from(segment), error }
}

/// E11.
#[test]
fn a_segment_that_the_head_refers_to_and_that_is_gone_is_corrupt_by_name() {
    for options in [ReaderOptions::default(), ranged()] {
        let mut world = log().reader(options);
        let key = segment_key_of(&world.log, 2);
        delete(&mut world.log, [key.clone()]);
        let missing = gone(&key);
        assert_eq!(world.fetch(3).unwrap_err(), missing);
        let [heads, _, segments] = world.requests();
        assert_eq!((heads, segments), (3, 2), "two tries, and the newest head before the verdict");
        assert_eq!(world.read_time(1003, 10).unwrap_err(), missing);
    }
}

#[test]
fn a_page_that_retention_replaced_leads_back_to_the_new_head() {
    let mut world = log().reader(ReaderOptions { page_cache_bytes: 0, ..ReaderOptions::default() });
    world.head(Freshness::Latest).unwrap();
    let old = keys_with(&world.log, "/pages/");
    world.log.trim(2);
    let rewritten = keys_with(&world.log, "/pages/").len() - old.len();
    assert!(rewritten >= 2, "retention cut through the tree");
    let root = old.iter().find(|key| key.contains("/l02/")).unwrap().clone();
    delete(&mut world.log, [root]);
    assert_eq!(world.read(2, 5).unwrap().records, world.log.expected(2, 7));
    assert_eq!(world.requests()[0], 2);
}

#[test]
fn a_batch_ends_before_an_object_that_cannot_be_read() {
    let mut world = log().reader(ReaderOptions::default());
    let key = segment_key_of(&world.log, 6);
    delete(&mut world.log, [key.clone()]);
    let batch = world.read(1, 100).unwrap();
    assert_eq!((batch.records, batch.next_lsn), (world.log.expected(1, 6), Lsn(6)));
    assert_eq!(world.read(6, 100).unwrap_err(), gone(&key));
    assert_eq!(world.read(8, 100).unwrap().records, world.log.expected(8, 18));
}

#[test]
fn a_body_of_the_wrong_length_is_read_again_once() {
    for (part, times, readable) in [("/segments/", 1, true), ("/segments/", 9, false), ("/pages/", 9, false)] {
        let mut world = log().reader(ReaderOptions { max_in_flight: 1, ..ranged() });
        let mut left = times;
        let tries = std::rc::Rc::new(std::cell::Cell::new(0));
        let counter = tries.clone();
        world.interference = Box::new(move |get, bucket| {
            if left == 0 || !get.key.as_str().contains(part) {
                return None;
            }
            left -= 1;
            counter.set(counter.get() + 1);
            Some(bucket.get(get).map(|reply| match reply {
                GetReply::Found { body, version, total_size } => {
                    GetReply::Found { body: body.slice(..body.len() - 1), version, total_size }
                }
                other @ GetReply::NotModified => other,
            }))
        });
        match world.fetch(0) {
            Ok(record) => assert!(readable && record == world.log.records[0]),
            Err(error) => {
                assert!(!readable && matches!(&error, ReadError::Corrupt { .. }), "{error}");
                assert_eq!(tries.get(), 2, "two tries");
            }
        }
    }
}

#[test]
fn an_object_cut_short_or_grown_is_corrupt() {
    for options in [ReaderOptions::default(), ranged()] {
        for part in ["/segments/", "/pages/l02/"] {
            for change in [-1, -200, 1] {
                let mut world = log().reader(options.clone());
                let key = keys_with(&world.log, part).remove(0);
                let (bytes, _) = world.log.bucket.objects[&key].clone();
                let mut bytes = bytes.to_vec();
                bytes.resize(bytes.len().checked_add_signed(change).unwrap(), 0);
                world.log.bucket.put(&key, bytes.into());
                let error = world.fetch(0).unwrap_err();
                assert!(matches!(&error, ReadError::Corrupt { key: k, .. } if k.as_str() == key), "{error}");
            }
        }
    }
}

#[test]
fn a_valid_segment_in_the_place_of_another_is_corrupt() {
    for options in [ReaderOptions::default(), ranged()] {
        let mut other = Log::new(2, 2, Codec::Zstd);
        other.head = other.head.takeover(WriterId([8; 16])).unwrap();
        let records = other.next_records(2);
        let entry = other.commit(&[records]);
        let foreign = other.bucket.objects[&other.segment_key(&entry)].0.clone();
        let mut world = log().reader(options);
        let key = segment_key_of(&world.log, 0);
        world.log.bucket.put(&key, foreign);
        let error = world.fetch(0).unwrap_err();
        assert!(matches!(&error, ReadError::Corrupt { key: k, .. } if k.as_str() == key), "{error}");
    }
}

#[test]
fn a_cancelled_call_is_never_answered_and_what_only_it_needed_is_dropped() {
    let mut world = log().reader(ReaderOptions::default());
    let call = world.reader.fetch(Lsn(0));
    let Some(Command::Get(op)) = world.poll().pop() else { panic!("the head is asked for") };
    world.reader.cancel(call);
    let commands = world.poll();
    assert!(matches!(commands[..], [Command::Cancel(id)] if id == op.id()), "{commands:?}");
    assert_eq!((world.reader.deadline(), world.events.len()), (None, 0));

    let answered = world.reader.head(Freshness::Latest);
    let Some(Command::Get(op)) = world.poll().pop() else { panic!("the head is asked for") };
    let completion = world.execute(Command::Get(op)).unwrap();
    world.reader.complete(world.now, completion);
    assert!(world.reader.poll_command(world.now).is_none());
    world.reader.cancel(answered);
    assert_eq!(world.reader.poll_event(), None);
}

#[test]
fn a_load_lives_on_while_somebody_waits_for_it() {
    let mut world = log().reader(ReaderOptions::default());
    let [first, second] = [world.reader.fetch(Lsn(0)), world.reader.fetch(Lsn(0))];
    let commands = world.poll();
    world.reader.cancel(first);
    assert!(world.poll().is_empty());
    for command in commands {
        let completion = world.execute(command).unwrap();
        world.reader.complete(world.now, completion);
    }
    assert!(world.wait(second).is_ok());
    assert_eq!(world.requests()[0], 1);
}

#[test]
fn extra_calls_change_nothing_and_equal_inputs_give_equal_outputs() {
    let run = |polls: usize| {
        let mut world = log().reader(ReaderOptions::default());
        fail_first(&mut world, "/pages/", 2, throttled(None));
        let call = world.reader.read(Lsn(0), ReadLimit::default(), Freshness::OnTail);
        loop {
            let mut commands = world.poll();
            for _ in 0..polls {
                let before = world.reader.clone();
                assert!(world.reader.poll_command(world.now).is_none());
                assert_eq!(world.reader.poll_event(), None);
                let _ = world.reader.deadline();
                assert_eq!(world.reader, before);
            }
            if let Some(answer) = world.answer(call) {
                return (answer.unwrap(), world.reader, world.now);
            }
            if commands.is_empty() {
                world.now.mono = world.reader.deadline().unwrap();
            }
            for command in commands.drain(..) {
                let completion = world.execute(command).unwrap();
                world.reader.complete(world.now, completion);
            }
        }
    };
    assert_eq!(run(0), run(3));
}
