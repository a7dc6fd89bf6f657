//! How fast a writer asks: second creates.
use crate::bucket::{Bucket, kind};
use bucketlog_core::boundary::{Command, Fault, Machine, MonoTime, Now, RefusalKind};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::{Codec, Record};
use bucketlog_core::ids::{Lsn, Partition, TimestampMs};
use bucketlog_core::pace::HedgePolicy;
use bucketlog_core::writer::{Writer, WriterEvent, WriterOptions};
use std::time::Duration;

struct World {
    bucket: Bucket,
    writer: Writer,
    now: Now,
}

impl World {
    /// A writer that knows that its creates take 10 ms.
    fn new() -> Self {
        let hedge = Some(HedgePolicy { percent: 10, least: Duration::from_millis(1) });
        let options = WriterOptions { hedge, codec: Codec::None, ..WriterOptions::default() };
        let keys = LogKeys::new(&StreamId::new("pace").unwrap(), Partition(1));
        let now = Now { mono: MonoTime(1), wall: TimestampMs(1) };
        let writer = Writer::open(keys, options, [1; 32]).unwrap();
        let mut world = Self { bucket: Bucket::default(), writer, now };
        world.settle();
        for _ in 0..30 {
            let create = world.slow_create();
            world.after(10);
            world.execute(create);
            world.settle();
        }
        world
    }

    fn after(&mut self, ms: u64) {
        self.now.mono = self.now.mono.after(Duration::from_millis(ms));
    }

    /// Executes everything but creates, of which it gives the first.
    fn until_create(&mut self) -> Option<Command> {
        while let Some(command) = self.writer.poll_command(self.now) {
            if kind(&command) == "CREATE" {
                return Some(command);
            }
            self.execute(command);
        }
        None
    }

    fn slow_create(&mut self) -> Command {
        self.writer.append(self.now, Record::new(self.now.wall, "x")).unwrap();
        self.writer.flush(self.now);
        self.until_create().expect("a segment is created")
    }

    fn execute(&mut self, command: Command) {
        if let Some(completion) = self.bucket.execute(command) {
            self.writer.complete(self.now, completion);
        }
    }

    fn settle(&mut self) {
        while let Some(command) = self.writer.poll_command(self.now) {
            self.execute(command);
        }
    }

    fn committed(&mut self) -> Option<Lsn> {
        let events = std::iter::from_fn(|| self.writer.poll_event());
        events.filter_map(|e| if let WriterEvent::Committed { next_lsn } = e { Some(next_lsn) } else { None }).last()
    }
}

#[test]
fn a_create_that_takes_long_is_sent_twice_and_the_first_answer_counts() {
    for first_wins in [false, true] {
        let mut world = World::new();
        let slow = world.slow_create();
        assert!(world.until_create().is_none());
        let due = world.writer.deadline().unwrap();
        assert_eq!(due, world.now.mono.after(Duration::from_millis(10)));
        world.now.mono = due;
        let twin = world.until_create().expect("a second create");
        assert_eq!(world.writer.stats().hedges, 1);
        let (winner, loser) = if first_wins { (slow, twin) } else { (twin, slow) };
        world.execute(winner);
        world.settle();
        assert_eq!(world.committed(), Some(Lsn(31)));
        let before = world.writer.stats().late_answers;
        world.execute(loser);
        world.settle();
        assert_eq!((world.committed(), world.writer.stats().late_answers), (None, before + 1));
    }
}

#[test]
fn a_fault_of_one_does_not_spoil_the_other() {
    let mut world = World::new();
    let slow = world.slow_create();
    world.after(10);
    let twin = world.until_create().expect("a second create");
    let fault = Fault::refused(RefusalKind::Throttled(None), "503");
    let answer = slow.fail(fault).unwrap();
    world.writer.complete(world.now, answer);
    assert!(world.until_create().is_none(), "it rests");
    world.execute(twin);
    world.settle();
    assert_eq!((world.committed(), world.writer.stats().throttles), (Some(Lsn(31)), 1));
}

#[test]
fn an_answer_that_says_taken_is_looked_into_and_found_to_be_the_twin() {
    let mut world = World::new();
    let slow = world.slow_create();
    world.after(10);
    let twin = world.until_create().expect("a second create");
    // The first lands unanswered; its twin meets it.
    let unanswered = world.bucket.execute(slow);
    world.execute(twin);
    world.settle();
    assert_eq!(world.committed(), Some(Lsn(31)));
    drop(unanswered);
}
