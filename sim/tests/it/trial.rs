//! Users' programs in a bad world: what is found, and how it is told.
use bucketlog_core::ids::Lsn;
use bucketlog_sim::action::How;
use bucketlog_sim::trial::{
    Answer, Batch, CallId, Event, Freshness, Io, Move, Program, ReadLimit, ReaderEvent, SimLog, SimWriter, Trial,
    TrialRecording, WriterEvent,
};
use std::sync::atomic::{AtomicU64, Ordering};

const LOG: SimLog = SimLog(0);

/// Does one thing at every wake-up.
struct Clockwork(fn(&mut Io<'_, Self>));

impl std::fmt::Debug for Clockwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clockwork")
    }
}

impl Program for Clockwork {
    type Disk = (u32, u32);
    type Message = u64;

    fn handle(&mut self, event: Event<u64>, io: &mut Io<'_, Self>) {
        if matches!(event, Event::Wake) {
            self.0(io);
        }
    }
}

fn clockwork(work: fn(&mut Io<'_, Clockwork>)) -> Trial<Clockwork> {
    Trial::new(2, move |_, _| Clockwork(work)).steps(100)
}

fn both_are_equal(trial: Trial<Clockwork>) -> Trial<Clockwork> {
    trial.always("both are equal", |world| {
        let (left, right) = *world.disk(0);
        if left == right { Ok(()) } else { Err(format!("{left} and {right}")) }
    })
}

#[test]
fn a_program_dies_between_two_things_that_it_keeps() {
    let work = |io: &mut Io<'_, Clockwork>| {
        if io.disk().0 < 5 {
            io.keep(|disk| disk.0 += 1);
            io.keep(|disk| disk.1 += 1);
        }
    };
    let failure = both_are_equal(clockwork(work)).search(0..100).unwrap_err();
    assert_eq!(failure.violation.rule, "both are equal");
    let steps: Vec<_> = failure.recording.steps.iter().map(ToString::to_string).collect();
    assert_eq!(steps, ["fuse 0", "fuse 0", "wake 0"]);
    both_are_equal(clockwork(work).without(Move::Fuse)).search(0..100).unwrap();
}

#[test]
fn what_is_kept_at_once_is_kept_whole() {
    let trial = clockwork(|io| {
        if io.disk().0 < 5 {
            io.keep(|disk| *disk = (disk.0 + 1, disk.1 + 1));
        }
    });
    both_are_equal(trial).search(0..100).unwrap();
}

#[test]
fn a_failing_run_tells_its_seed_and_replays_from_its_own_text() {
    let trial = || {
        both_are_equal(clockwork(|io| {
            if io.disk().0 < 5 {
                io.keep(|disk| disk.0 += 1);
            }
        }))
    };
    let failure = trial().search(7..9).unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("seed 7 breaks a rule: both are equal: 1 and 0"), "{text}");
    assert!(text.contains("BUCKETLOG_SEED=7 cargo test"), "{text}");
    let again: TrialRecording = failure.trace.parse().unwrap();
    assert_eq!(again, failure.recording);
    assert_eq!(trial().replay(&again).unwrap_err().violation, failure.violation);
    assert!("wake 0".parse::<TrialRecording>().is_err());
}

#[test]
fn a_panic_of_a_program_tells_its_seed() {
    let failure = clockwork(|io| assert!(io.node() == 0, "node 1 woke up")).search(0..1).unwrap_err();
    assert_eq!((failure.seed, failure.violation.rule), (Some(0), "a program does not panic"));
    assert!(failure.violation.detail.contains("node 1 woke up"), "{failure}");
}

#[test]
fn a_program_that_is_not_deterministic_is_found_out() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let trial = clockwork(|io| {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        if call < 1_000 {
            io.send(1, call);
        }
    });
    let failure = trial.search(0..1).unwrap_err();
    assert_eq!(failure.violation.rule, "the same choices give the same run");
}

#[test]
fn a_program_that_never_rests_is_found_out() {
    let failure = clockwork(|io| io.send(1, 0)).search(0..1).unwrap_err();
    assert_eq!(failure.violation.rule, "without faults the world comes to rest");
}

#[test]
fn a_program_can_complain_itself() {
    let failure = clockwork(|io| io.complain("nobody wakes", io.node())).search(0..1).unwrap_err();
    assert_eq!(failure.violation.rule, "nobody wakes");
    assert_eq!(failure.recording.steps.len(), 1, "{failure}");
}

#[test]
fn a_message_to_nobody_is_a_mistake_of_the_program() {
    let failure = clockwork(|io| io.send(2, 0)).search(0..1).unwrap_err();
    assert_eq!(failure.violation.rule, "messages go to nodes that exist");
}

/// Appends three records, one at a time, each exactly once: it must know what became of one before it may repeat it.
#[derive(Debug)]
struct Outbox {
    /// Takes an unknown outcome for a failure.
    is_rash: bool,
    writer: Option<SimWriter>,
    /// The read whose answer is waited for; answers to others are of an earlier owner.
    call: Option<CallId>,
}

impl Outbox {
    fn next(writer: SimWriter, io: &mut Io<'_, Self>) {
        let number = *io.disk();
        if number < 3 && io.append(writer, format!("{}/{number}", io.node())).is_ok() {
            io.flush(writer);
        } else {
            io.close(writer);
        }
    }

    fn read(&mut self, from: Lsn, io: &mut Io<'_, Self>) {
        self.call = Some(io.read(LOG, from, ReadLimit::default(), Freshness::Latest));
    }

    /// Learns from the log what an earlier incarnation has done.
    fn learn(&mut self, batch: &Batch, writer: SimWriter, io: &mut Io<'_, Self>) {
        let node = io.node();
        for number in batch.records.iter().filter_map(|(_, record)| number_of(node, &record.value)) {
            if number >= *io.disk() {
                io.keep(|done| *done = number + 1);
            }
        }
        if batch.next_lsn < batch.head.next_lsn { self.read(batch.next_lsn, io) } else { Self::next(writer, io) }
    }
}

fn number_of(node: usize, value: &[u8]) -> Option<u32> {
    let (owner, number) = std::str::from_utf8(value).ok()?.split_once('/')?;
    if owner.parse() == Ok(node) { number.parse().ok() } else { None }
}

impl Program for Outbox {
    type Disk = u32;
    type Message = ();

    fn handle(&mut self, event: Event<()>, io: &mut Io<'_, Self>) {
        match event {
            Event::Wake if self.writer.is_none() && *io.disk() < 3 => self.writer = Some(io.open_writer(LOG)),
            Event::Writer(writer, WriterEvent::Opened { .. }) if self.is_rash => Self::next(writer, io),
            // Whoever owns the log knows that nothing older comes behind its back: now is the time to read.
            Event::Writer(_, WriterEvent::Opened { .. }) => self.read(Lsn(0), io),
            Event::Writer(writer, WriterEvent::Committed { .. }) => {
                io.keep(|done| *done += 1);
                Self::next(writer, io);
            }
            Event::Writer(_, WriterEvent::Closed { .. } | WriterEvent::Halted(_)) => {
                (self.writer, self.call) = (None, None);
            }
            Event::Reader(_, ReaderEvent::Done { call, result }) if self.call == Some(call) => {
                let Some(writer) = self.writer else { return };
                match result {
                    Ok(Answer::Batch(batch)) => self.learn(&batch, writer, io),
                    _ => io.abort(writer),
                }
            }
            _ => {}
        }
    }
}

fn outbox(is_rash: bool) -> Trial<Outbox> {
    Trial::new(2, move |_, _| Outbox { is_rash, writer: None, call: None })
        .always("every record is in the log once at most", |world| {
            let values: Vec<_> = world.committed(LOG).iter().map(|record| &record.value).collect();
            let twice = values.iter().enumerate().find(|(i, value)| values[..*i].contains(value));
            twice.map_or(Ok(()), |(lsn, value)| Err(format!("{value:?} again at {lsn}")))
        })
        .at_rest("everything is in the log", |world| match world.committed(LOG).len() {
            6 => Ok(()),
            found => Err(format!("{found} of 6")),
        })
}

#[test]
fn an_outbox_that_reads_before_it_repeats_writes_each_record_once() {
    let tally = outbox(false).run(0..400);
    for word in [How::Lost.word(), How::Astray.word(), How::Mute.word(), "land", "crash", "freeze", "429"] {
        assert!(tally.count(word) > 100, "{word} happened {} times", tally.count(word));
    }
}

#[test]
fn an_outbox_that_takes_an_unknown_outcome_for_a_failure_is_caught() {
    let failure = outbox(true).search(0..400).unwrap_err();
    assert_eq!(failure.violation.rule, "every record is in the log once at most");
}

#[test]
fn a_seed_gives_the_same_run_for_ever() {
    let trial = outbox(false);
    assert_eq!(trial.trace(11), outbox(false).trace(11));
    assert_ne!(trial.trace(11), trial.trace(12));
}

/// A broken writer is found out by what it promises, without any rule of the user's.
#[cfg(feature = "mutants")]
#[test]
fn mutants_that_lie_about_durability_are_caught_through_a_users_program() {
    for mutant in ["acknowledged before the swap", "acknowledged at the upload"] {
        bucketlog_core::mutant::switch_on(mutant);
        let found = outbox(false).search(0..400);
        bucketlog_core::mutant::switch_on("");
        let rule = found.unwrap_err().violation.rule;
        assert_eq!(rule, "what bucketlog calls committed is in the log", "{mutant}");
    }
}
