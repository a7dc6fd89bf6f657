//! The laws of the boundary, for every machine and any order of calls: same input, same output; extra calls change
//! nothing; commands in flight are bounded; late answers are ignored and counted; nothing panics.
use crate::bucket::Bucket;
use bucketlog_core::boundary::{Command, Fault, GetReply, Machine, MonoTime, Now, RefusalKind, Version};
use bucketlog_core::format::catalog::CatalogLayout;
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, Partition, TimestampMs};
use bucketlog_core::initialize::Initialize;
use bucketlog_core::reader::{Freshness, ReadLimit, Reader, ReaderOptions};
use bucketlog_core::writer::{BatchPolicy, PartPolicy, Status, Writer, WriterOptions};
use proptest::prelude::*;
use std::fmt::Debug;
use std::time::Duration;

/// More commands than any machine may have in flight under its default options.
const MAX_IN_FLIGHT: usize = 64;

fn keys() -> LogKeys {
    LogKeys::new(&StreamId::new("laws").unwrap(), Partition(1))
}

fn writer() -> Writer {
    let layout = CatalogLayout { leaf_limit: 2, index_limit: 2, ..CatalogLayout::default() };
    // Tiny parts where models may have them, as in a build of the whole workspace.
    let part_bytes = PartPolicy::MIN_PART_BYTES.max(200);
    let parts = Some(PartPolicy { threshold_bytes: part_bytes, part_bytes, parallel: 3 });
    let batch = BatchPolicy { max_bytes: 100_000, ..BatchPolicy::default() };
    let options = WriterOptions { layout, block_bytes: 40, metrics: true, parts, batch, ..WriterOptions::default() };
    Writer::open(keys(), options, [1; 32]).unwrap()
}

fn call_writer(writer: &mut Writer, now: Now, choice: u8) {
    match choice % 8 {
        0 => writer.cut(now),
        1 => drop(writer.flush(now)),
        2 => writer.want_durable(Lsn(u64::from(choice))),
        3 if choice > 250 => drop(writer.close(now)),
        4 if choice > 250 => writer.abort(),
        5 => drop(writer.append_batch(now, vec![Record::new(now.wall, "b"); usize::from(choice % 5)])),
        _ => drop(writer.append(now, Record::new(now.wall, vec![choice; 10]))),
    }
}

fn call_reader(reader: &mut Reader, _now: Now, choice: u8) {
    let freshness = [Freshness::Cached, Freshness::OnTail, Freshness::Latest][usize::from(choice % 3)];
    match choice % 5 {
        0 => drop(reader.head(freshness)),
        1 => drop(reader.fetch(Lsn(u64::from(choice / 5)))),
        2 => drop(reader.read_from_timestamp(TimestampMs(i64::from(choice)), ReadLimit::default())),
        3 => reader.cancel(reader.clone().fetch(Lsn(0))),
        _ => drop(reader.read(Lsn(u64::from(choice / 5)), ReadLimit::default(), freshness)),
    }
}

/// What a run showed: every command and event, in words.
type Trace = Vec<String>;

/// Plays choices against a machine; two bytes a step.
struct Play<M> {
    machine: M,
    bucket: Bucket,
    inflight: Vec<Command>,
    now: Now,
    trace: Trace,
}

impl<M: Machine<Event: Debug> + Clone + Eq + Debug> Play<M> {
    fn new(machine: M, bucket: Bucket) -> Self {
        let now = Now { mono: MonoTime(1), wall: TimestampMs(1) };
        Self { machine, bucket, inflight: Vec::new(), now, trace: Vec::new() }
    }

    fn poll(&mut self) {
        let mut polls = 0;
        while let Some(command) = self.machine.poll_command(self.now) {
            self.trace.push(format!("{command:?}"));
            if !matches!(command, Command::Cancel(_)) {
                self.inflight.push(command);
            }
            polls += 1;
            assert!(polls <= 2 * MAX_IN_FLIGHT, "a machine that never stops asking");
        }
        assert!(self.inflight.len() <= 4 * MAX_IN_FLIGHT, "commands in flight are bounded");
        let before = self.machine.clone();
        assert!(self.machine.poll_command(self.now).is_none());
        assert_eq!(self.machine.deadline(), before.deadline());
        assert_eq!(self.machine, before, "a poll without news changes nothing");
        assert!(self.machine.deadline().is_none_or(|at| at > self.now.mono), "the deadline lies ahead of a rest");
    }

    fn answer(&mut self, index: usize, choice: u8) {
        let index = index % self.inflight.len();
        let command = self.inflight.swap_remove(index);
        let completion = match (choice % 16, command) {
            (0, command) => command.fail(Fault::not_sent("law")),
            (1, command) => command.fail(Fault::indeterminate("law")),
            (2, command) => command.fail(Fault::refused(RefusalKind::Throttled(Some(Duration::from_secs(1))), "law")),
            (3, command) => command.fail(Fault::refused(RefusalKind::Conflict, "law")),
            (4, command) => command.fail(Fault::refused(RefusalKind::Precondition, "law")),
            (5, command) => command.fail(Fault::refused(RefusalKind::NotFound, "law")),
            (6, command) if choice > 200 => command.fail(Fault::refused(RefusalKind::Denied, "law")),
            (7, Command::Get(op)) => {
                let (_, ticket) = op.split();
                let version = (choice > 128).then(|| Version::from("x"));
                Some(ticket.done(Ok(GetReply::Found { body: vec![choice; 400].into(), version, total_size: 400 })))
            }
            (8, Command::Get(op)) => Some(op.split().1.done(Ok(GetReply::NotModified))),
            (_, command) => self.bucket.execute(command),
        };
        self.machine.complete(self.now, completion.expect("not a cancellation"));
    }

    fn step(&mut self, what: u8, choice: u8, call: impl Fn(&mut M, Now, u8)) {
        match what % 8 {
            0 | 1 => call(&mut self.machine, self.now, choice),
            2..=4 if !self.inflight.is_empty() => self.answer(usize::from(what / 8), choice),
            5 => self.trace.extend(self.machine.poll_event().map(|event| format!("{event:?}"))),
            6 => {
                let deadline = self.machine.deadline().unwrap_or(self.now.mono);
                self.now.mono = self.now.mono.max(deadline);
                self.now.wall.0 += i64::from(choice) - 100;
            }
            _ => self.poll(),
        }
    }

    fn run(mut self, script: &[(u8, u8)], call: impl Fn(&mut M, Now, u8)) -> (M, Trace) {
        for (what, choice) in script {
            self.step(*what, *choice, &call);
        }
        self.poll();
        while let Some(event) = self.machine.poll_event() {
            self.trace.push(format!("{event:?}"));
        }
        (self.machine, self.trace)
    }
}

/// A bucket with a small log in it.
fn stocked() -> Bucket {
    let mut bucket = Bucket::default();
    let (mut writer, now) = (writer(), Now { mono: MonoTime(1), wall: TimestampMs(1) });
    let mut run = |writer: &mut Writer| {
        while let Some(command) = writer.poll_command(now) {
            if let Some(completion) = bucket.execute(command) {
                writer.complete(now, completion);
            }
        }
    };
    run(&mut writer);
    for _ in 0..7 {
        writer.append(now, Record::new(now.wall, "stock")).unwrap();
        writer.append(now, Record::new(now.wall, "stock")).unwrap();
        writer.flush(now);
        run(&mut writer);
    }
    bucket
}

fn check<M: Machine<Event: Debug> + Clone + Eq + Debug>(
    machine: &M,
    script: &[(u8, u8)],
    call: impl Fn(&mut M, Now, u8),
) {
    let first = Play::new(machine.clone(), stocked()).run(script, &call);
    let second = Play::new(machine.clone(), stocked()).run(script, &call);
    assert_eq!(first, second, "same input, same output");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_writer_keeps_the_laws(script in prop::collection::vec(any::<(u8, u8)>(), 0..300)) {
        check(&writer(), &script, call_writer);
    }

    #[test]
    fn the_reader_keeps_the_laws(script in prop::collection::vec(any::<(u8, u8)>(), 0..300)) {
        check(&Reader::new(keys(), ReaderOptions::default(), [2; 32]), &script, call_reader);
    }

    #[test]
    fn initialization_keeps_the_laws(script in prop::collection::vec(any::<(u8, u8)>(), 0..60)) {
        let machine = Initialize::new(keys(), CatalogLayout::default(), Lsn(5), Duration::from_secs(9), [3; 32]).unwrap();
        check(&machine, &script, |_, _, _| {});
    }
}

#[test]
fn an_answer_after_the_deadline_is_counted_and_changes_nothing_else() {
    let (mut writer, mut now) = (writer(), Now { mono: MonoTime(1), wall: TimestampMs(1) });
    let late = writer.poll_command(now).expect("the head is read");
    now.mono = now.mono.after(Duration::from_secs(30));
    assert!(matches!(writer.poll_command(now), Some(Command::Cancel(id)) if id == late.id()));
    let before = writer.clone();
    writer.complete(now, Bucket::default().execute(late).unwrap());
    assert_eq!(writer.stats().late_answers, before.stats().late_answers + 1);
    assert_eq!(writer.poll_command(now).map(|c| c.id()), before.clone().poll_command(now).map(|c| c.id()));
}

#[test]
fn encoding_that_fails_is_repeated_after_a_wait_and_not_for_ever() {
    let (mut writer, mut now) = (writer(), Now { mono: MonoTime(1), wall: TimestampMs(1) });
    let mut bucket = Bucket::default();
    for _ in 0..2 {
        let command = writer.poll_command(now).expect("the claim");
        writer.complete(now, bucket.execute(command).unwrap());
    }
    assert!(writer.poll_command(now).is_none());
    writer.append(now, Record::new(now.wall, "x")).unwrap();
    writer.flush(now);
    let mut attempts = 0;
    while let Some(command) = writer.poll_command(now) {
        writer.complete(now, command.fail(Fault::not_sent("the workers are gone")).unwrap());
        assert!(writer.poll_command(now).is_none(), "not again at once");
        now.mono = writer.deadline().unwrap_or(now.mono);
        attempts += 1;
    }
    assert!(matches!(writer.status(), Status::Halted(_)), "the budget ends it");
    assert!((10..100).contains(&attempts), "{attempts} attempts");
}

#[test]
fn a_partition_is_created_once_at_the_chosen_lsn() {
    let (mut bucket, now) = (Bucket::default(), Now { mono: MonoTime(1), wall: TimestampMs(1) });
    for (next_lsn, created) in [(Lsn(100), true), (Lsn(7), false)] {
        let layout = CatalogLayout::default();
        let mut machine = Initialize::new(keys(), layout, next_lsn, Duration::from_secs(9), [3; 32]).unwrap();
        while let Some(command) = machine.poll_command(now) {
            let completion = bucket.execute(command).unwrap();
            machine.complete(now, completion);
        }
        let initialized = machine.poll_event().unwrap().unwrap();
        assert_eq!((initialized.created, initialized.head.next_lsn), (created, Lsn(100)));
    }
}
