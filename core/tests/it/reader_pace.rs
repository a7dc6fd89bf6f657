//! How fast a reader asks: what is loaded ahead, throttles, second requests.
use crate::reader_kit::{Log, World, batch, record};
use bucketlog_core::backoff::Backoff;
use bucketlog_core::boundary::{Command, Fault, Machine, RefusalKind};
use bucketlog_core::format::segment::Codec;
use bucketlog_core::ids::Lsn;
use bucketlog_core::pace::HedgePolicy;
use bucketlog_core::reader::{Answer, Freshness, ReadLimit, ReaderEvent, ReaderOptions};
use std::time::Duration;

/// A log of so many segments with one record each, and a reader that knows its head.
fn world(segments: usize, options: ReaderOptions) -> World {
    let mut log = Log::new(1024, 1024, Codec::None);
    log.commit_all(&vec![1; segments]);
    let mut world = log.reader(options);
    world.head(Freshness::Latest).unwrap();
    world
}

fn is_get(command: &Command) -> bool {
    matches!(command, Command::Get(_))
}

fn execute(world: &mut World, commands: impl IntoIterator<Item = Command>) {
    for command in commands {
        if let Some(completion) = world.execute(command) {
            world.reader.complete(world.now, completion);
        }
    }
}

#[test]
fn h05_catching_up_over_a_thousand_segments_loads_ahead_within_bounds_and_delivers_in_order() {
    let options = ReaderOptions { max_in_flight: 16, max_ahead: 5, prefetch_count: 64, ..ReaderOptions::default() };
    let mut world = world(1000, options);
    let call = world.reader.read(Lsn(0), ReadLimit::records(1000), Freshness::Cached);
    let (mut flying, mut most) = (Vec::new(), 0);
    let records = loop {
        flying.extend(world.poll());
        most = most.max(flying.iter().filter(|command| is_get(command)).count());
        if let Some(answer) = world.answer(call) {
            break batch(answer.unwrap()).records;
        }
        // Answers come out of order.
        let last = flying.pop().expect("something is under way");
        execute(&mut world, [last]);
    };
    assert_eq!(most, 6, "what is waited for now, and five ahead");
    assert_eq!(records, world.log.expected(0, 1000));
}

#[test]
fn a_reader_that_catches_up_leaves_room_for_a_lookup() {
    let options = ReaderOptions { max_in_flight: 4, max_ahead: 2, ..ReaderOptions::default() };
    let mut world = world(100, options);
    let reading = world.reader.read(Lsn(0), ReadLimit::records(100), Freshness::Cached);
    let ahead = world.poll();
    assert_eq!(ahead.len(), 3, "one is waited for, two are ahead");
    let lookup = world.reader.fetch(Lsn(99));
    let asked = world.poll();
    assert_eq!(asked.len(), 1, "at once, though others were queued before");
    execute(&mut world, asked);
    world.settle();
    assert_eq!(world.answer(lookup), Some(Ok(Answer::Record(record(99)))));
    execute(&mut world, ahead);
    assert_eq!(world.wait(reading).map(batch).unwrap().records.len(), 100);
}

#[test]
fn f05_a_throttled_reader_asks_for_less_at_once_and_loses_nothing() {
    let backoff = Backoff { base: Duration::from_millis(1), max: Duration::from_millis(1) };
    let options = ReaderOptions { max_in_flight: 8, max_ahead: 8, backoff, ..ReaderOptions::default() };
    let mut world = world(200, options);
    let call = world.reader.read(Lsn(0), ReadLimit::records(200), Freshness::Cached);
    let first = world.poll();
    assert_eq!(first.len(), 8);
    for command in first {
        let throttled = command.fail(Fault::refused(RefusalKind::Throttled(None), "503")).unwrap();
        world.reader.complete(world.now, throttled);
    }
    let second = world.poll();
    assert_eq!((second.len(), world.reader.throttles()), (4, 8), "one round of throttles halves the window once");
    execute(&mut world, second);
    assert_eq!(world.wait(call).map(batch).unwrap().records, world.log.expected(0, 200));
}

/// A reader that knows that its reads take 10 ms.
fn hedging() -> World {
    let hedge = Some(HedgePolicy { percent: 10, least: Duration::from_millis(1) });
    let mut world =
        world(100, ReaderOptions { hedge, index_cache_bytes: 0, block_cache_bytes: 0, ..Default::default() });
    for lsn in 0..30 {
        let call = world.reader.fetch(Lsn(lsn));
        let asked = world.poll();
        world.now.mono = world.now.mono.after(Duration::from_millis(10));
        execute(&mut world, asked);
        world.wait(call).unwrap();
    }
    world
}

#[test]
fn a_read_that_takes_long_is_made_twice_and_the_first_answer_counts() {
    for first_wins in [false, true] {
        let mut world = hedging();
        let call = world.reader.fetch(Lsn(50));
        let mut slow = world.poll();
        assert_eq!(slow.len(), 1);
        let due = world.reader.deadline().unwrap();
        assert_eq!(due, world.now.mono.after(Duration::from_millis(10)));
        world.now.mono = due;
        let mut twin = world.poll();
        assert_eq!((twin.len(), world.reader.hedges()), (1, 1));
        let (winner, loser) = if first_wins { (&mut slow, &mut twin) } else { (&mut twin, &mut slow) };
        execute(&mut world, winner.drain(..));
        let loser = loser.remove(0);
        let cancelled = world.poll();
        assert!(cancelled.iter().any(|c| matches!(c, Command::Cancel(id) if *id == loser.id())), "{cancelled:?}");
        execute(&mut world, cancelled);
        assert_eq!(world.wait(call), Ok(Answer::Record(record(50))));
        let before = world.reader.late_answers();
        execute(&mut world, [loser]);
        world.settle();
        assert_eq!(world.reader.late_answers(), before + 1);
        assert!(world.events.iter().all(|event| !matches!(event, ReaderEvent::Done { .. })), "answered once");
    }
}

#[test]
fn second_reads_are_bounded_by_their_share() {
    let mut world = hedging();
    for lsn in 30..90 {
        let call = world.reader.fetch(Lsn(lsn));
        let mut asked = world.poll();
        world.now.mono = world.now.mono.after(Duration::from_millis(50));
        asked.extend(world.poll());
        execute(&mut world, asked);
        world.wait(call).unwrap();
    }
    assert!((1..=9).contains(&world.reader.hedges()), "{} of some 90 reads", world.reader.hedges());
}
