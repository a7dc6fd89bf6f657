//! Writer and reader against a `Vec`: whatever is done through the public handles, blocking or as futures, the log is what
//! the model says.
use crate::world::{PARTITION, log_on, options};
use bucketlog_blocking::error::{AppendReason, ReadError};
use bucketlog_blocking::initialize::InitializeOptions;
use bucketlog_blocking::reader::{Freshness, ReadLimit, ReaderOptions};
use bucketlog_blocking::store::{LocalDir, Memory, Store};
use bucketlog_blocking::{Log, Lsn, Reader, Record, TimestampMs, Writer};
use bucketlog_core::limits::MAX_VALUE_LEN;
use pollster::block_on;
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use std::sync::Arc;

/// What is done; the flags say whether as a future.
#[derive(Clone, Debug)]
enum Step {
    Append {
        step: i64,
        future: bool,
    },
    AppendDurable {
        step: i64,
        future: bool,
    },
    AppendBatch {
        steps: Vec<i64>,
    },
    AppendTooLarge,
    AppendBackInTime {
        batch: bool,
    },
    /// And the watch sees what was cut become durable.
    Cut,
    Flush {
        future: bool,
    },
    Close {
        future: bool,
    },
    /// Claims the partition, also from a writer that lives; what that one has not flushed is lost.
    Open {
        future: bool,
    },
    Drop,
    Initialize,
    Head {
        freshness: Freshness,
        future: bool,
    },
    Read {
        from: u64,
        max: u32,
        freshness: Freshness,
        future: bool,
    },
    Fetch {
        lsn: u64,
        future: bool,
    },
    FindTimestamp {
        timestamp: i64,
        future: bool,
    },
    ReadFromTimestamp {
        timestamp: i64,
        future: bool,
    },
}

/// The log begins here.
const FIRST: u64 = 3;

#[derive(Clone, Debug)]
struct Model {
    durable: Vec<i64>,
    accepted: Vec<i64>,
    open: bool,
}

impl Model {
    fn last(&self) -> i64 {
        self.accepted.last().or(self.durable.last()).copied().unwrap_or(0)
    }

    fn flush(&mut self) {
        self.durable.append(&mut self.accepted);
    }

    fn end(&self) -> u64 {
        FIRST + self.durable.len() as u64
    }

    /// Every LSN from `from` on.
    fn records(&self, from: usize) -> Vec<(Lsn, Record)> {
        let tail = self.durable.iter().enumerate().skip(from);
        tail.map(|(n, timestamp)| (Lsn(FIRST + n as u64), record(*timestamp))).collect()
    }

    fn at_or_after(&self, timestamp: i64) -> usize {
        self.durable.partition_point(|found| *found < timestamp)
    }
}

fn record(timestamp: i64) -> Record {
    Record::new(TimestampMs(timestamp), format!("at {timestamp}"))
}

fn freshness() -> impl Strategy<Value = Freshness> {
    prop_oneof![Just(Freshness::Cached), Just(Freshness::OnTail), Just(Freshness::Latest)]
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self { durable: Vec::new(), accepted: Vec::new(), open: false }).boxed()
    }

    fn transitions(model: &Self) -> BoxedStrategy<Step> {
        let (lsn, time) = (FIRST.saturating_sub(1)..model.end() + 2, 0..model.last() + 2);
        let (future, step) = (any::<bool>(), 0_i64..3);
        let reads = prop_oneof![
            (freshness(), future).prop_map(|(freshness, future)| Step::Head { freshness, future }),
            (lsn.clone(), 1..5_u32, freshness(), future).prop_map(|(from, max, freshness, future)| Step::Read {
                from,
                max,
                freshness,
                future
            }),
            (lsn, future).prop_map(|(lsn, future)| Step::Fetch { lsn, future }),
            (time.clone(), future).prop_map(|(timestamp, future)| Step::FindTimestamp { timestamp, future }),
            (time, future).prop_map(|(timestamp, future)| Step::ReadFromTimestamp { timestamp, future }),
        ];
        let open = future.prop_map(|future| Step::Open { future });
        if !model.open {
            return prop_oneof![3 => open, 1 => Just(Step::Initialize), 2 => reads].boxed();
        }
        prop_oneof![
            4 => (step.clone(), future).prop_map(|(step, future)| Step::Append { step, future }),
            2 => (step.clone(), future).prop_map(|(step, future)| Step::AppendDurable { step, future }),
            2 => proptest::collection::vec(step, 1..5).prop_map(|steps| Step::AppendBatch { steps }),
            1 => Just(Step::AppendTooLarge),
            1 => any::<bool>().prop_map(|batch| Step::AppendBackInTime { batch }),
            1 => Just(Step::Cut),
            2 => future.prop_map(|future| Step::Flush { future }),
            1 => future.prop_map(|future| Step::Close { future }),
            1 => open,
            1 => Just(Step::Drop),
            1 => Just(Step::Initialize),
            8 => reads,
        ]
        .boxed()
    }

    fn apply(mut model: Self, step: &Step) -> Self {
        match step {
            Step::Append { step, .. } => model.accepted.push(model.last() + step),
            Step::AppendDurable { step, .. } => {
                model.accepted.push(model.last() + step);
                model.flush();
            }
            Step::AppendBatch { steps } => steps.iter().for_each(|step| model.accepted.push(model.last() + step)),
            Step::Cut | Step::Flush { .. } => model.flush(),
            Step::Close { .. } => {
                model.flush();
                model.open = false;
            }
            Step::Open { .. } => {
                model.accepted.clear();
                model.open = true;
            }
            Step::Drop => {
                model.accepted.clear();
                model.open = false;
            }
            _ => {}
        }
        model
    }
}

/// The handles under test. Nothing is stored before a flush, a close or a durable append asks for it.
struct Handles {
    log: Log,
    writer: Option<Writer>,
    reader: Reader,
    /// Where the log ended at the reader's last look at the head.
    seen: u64,
    _dir: Option<tempfile::TempDir>,
}

impl Handles {
    fn new(store: Arc<dyn Store>, dir: Option<tempfile::TempDir>) -> Self {
        let log = log_on(store);
        log.initialize_partition(PARTITION, Lsn(FIRST), &InitializeOptions::default()).unwrap();
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        Self { log, writer: None, reader, seen: FIRST, _dir: dir }
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().unwrap()
    }

    fn apply(&mut self, model: &Model, step: Step) {
        let end = model.end();
        let accepted = end + model.accepted.len() as u64;
        match step {
            Step::Append { future, .. } => {
                let record = record(model.last());
                let writer = self.writer();
                let appended = if future { block_on(writer.append_async(record)) } else { writer.append(record) };
                assert_eq!(appended.unwrap().lsn, Lsn(accepted - 1));
            }
            Step::AppendDurable { future, .. } => {
                let record = record(model.last());
                let writer = self.writer();
                let lsn =
                    if future { block_on(writer.append_durable_async(record)) } else { writer.append_durable(record) };
                assert_eq!(lsn.unwrap(), Lsn(end - 1));
            }
            Step::AppendBatch { steps } => {
                let new = &model.accepted[model.accepted.len() - steps.len()..];
                let batch = self.writer().append_batch(new.iter().copied().map(record).collect()).unwrap();
                assert_eq!(batch.lsns, Lsn(accepted - steps.len() as u64)..Lsn(accepted));
            }
            Step::AppendTooLarge => {
                let large = Record::new(TimestampMs(model.last()), vec![0; MAX_VALUE_LEN + 1]);
                let error = self.writer().append(large.clone()).unwrap_err();
                assert!(matches!(error.reason, AppendReason::Record(_)) && error.record == large);
            }
            Step::AppendBackInTime { batch } => self.append_back_in_time(model.last(), batch),
            Step::Cut => {
                let writer = self.writer();
                writer.cut();
                let last = Lsn(writer.watermarks().accepted.0 - 1);
                assert_eq!(writer.committed().wait_past(last), Ok(Lsn(end)));
            }
            Step::Flush { future } => {
                let writer = self.writer();
                let flushed = if future { block_on(writer.flush_async()) } else { writer.flush() };
                assert_eq!(flushed, Ok(Lsn(end)));
            }
            Step::Close { future } => {
                let writer = self.writer.take().unwrap();
                let closed = if future { block_on(writer.close_async()) } else { writer.close() };
                assert_eq!(closed, Ok(Lsn(end)));
            }
            Step::Open { future } => self.open(future),
            Step::Drop => self.writer = None,
            Step::Initialize => {
                let found = self.log.initialize_partition(PARTITION, Lsn(77), &InitializeOptions::default()).unwrap();
                assert_eq!((found.created, found.head.next_lsn), (false, Lsn(end)));
            }
            read => self.read(model, &read),
        }
        if let Some(writer) = &self.writer {
            let watermarks = writer.watermarks();
            assert_eq!((watermarks.accepted, watermarks.committed), (Lsn(accepted), Lsn(end)));
        }
    }

    /// Refused where it goes back, which it can't before the first record.
    fn append_back_in_time(&mut self, last: i64, batch: bool) {
        let back = record(last - 1);
        let records = vec![record(last), back.clone()];
        let writer = self.writer();
        let expected = AppendReason::TimestampOrder { last: TimestampMs(last), found: TimestampMs(last - 1) };
        if batch {
            let error = writer.append_batch(records.clone()).unwrap_err();
            assert_eq!((error.reason, error.index, error.records), (expected, 1, records));
        } else if writer.watermarks().accepted > Lsn(FIRST) {
            let error = writer.append(back.clone()).unwrap_err();
            assert_eq!((error.reason, error.record), (expected, back));
        }
    }

    /// A writer that lives is fenced: what it has not flushed never becomes durable.
    fn open(&mut self, future: bool) {
        let options = options();
        let writer = if future {
            block_on(self.log.writer_async(PARTITION, options)).unwrap()
        } else {
            self.log.writer(PARTITION, options).unwrap()
        };
        if let Some(mut old) = self.writer.replace(writer) {
            let pending = old.watermarks();
            assert_eq!(old.flush().is_err(), pending.accepted > pending.committed);
        }
    }

    fn read(&mut self, model: &Model, step: &Step) {
        let end = model.end();
        let reader = &self.reader;
        match *step {
            Step::Head { freshness, future } => {
                let head = if future { block_on(reader.head_async(freshness)) } else { reader.head(freshness) };
                self.look(head.unwrap().next_lsn, end, freshness != Freshness::Cached);
            }
            Step::Read { from, max, freshness, future } => {
                let (from, limit) = (Lsn(from), ReadLimit::records(max));
                let batch = if future {
                    block_on(reader.read_async(from, limit, freshness))
                } else {
                    reader.read(from, limit, freshness)
                };
                if from.0 < FIRST {
                    assert!(matches!(batch, Err(ReadError::Expired { .. })), "{batch:?}");
                    return;
                }
                let Ok(batch) = batch else { panic!("{batch:?}") };
                let expected = model.records(usize::try_from(from.0 - FIRST).unwrap());
                assert!(expected.starts_with(&batch.records), "{batch:?}");
                let fresh = freshness != Freshness::Cached && from.0 < end;
                assert!(!fresh || !batch.records.is_empty(), "nothing was read at {from} of {end}");
            }
            Step::Fetch { lsn, future } => {
                let found = if future { block_on(reader.fetch_async(Lsn(lsn))) } else { reader.fetch(Lsn(lsn)) };
                match lsn {
                    _ if lsn < FIRST => assert!(matches!(found, Err(ReadError::Expired { .. })), "{found:?}"),
                    _ if lsn >= end => assert!(matches!(found, Err(ReadError::NotYet { .. })), "{found:?}"),
                    _ => assert_eq!(found, Ok(record(model.durable[usize::try_from(lsn - FIRST).unwrap()]))),
                }
            }
            Step::FindTimestamp { timestamp, future } => {
                reader.head(Freshness::Latest).unwrap();
                let at = TimestampMs(timestamp);
                let found = if future { block_on(reader.find_timestamp_async(at)) } else { reader.find_timestamp(at) };
                let first = FIRST + model.at_or_after(timestamp) as u64;
                assert_eq!(found, Ok((first < end).then_some(Lsn(first))));
            }
            Step::ReadFromTimestamp { timestamp, future } => {
                reader.head(Freshness::Latest).unwrap();
                let (at, limit) = (TimestampMs(timestamp), ReadLimit::records(1));
                let batch = if future {
                    block_on(reader.read_from_timestamp_async(at, limit))
                } else {
                    reader.read_from_timestamp(at, limit)
                };
                let expected: Vec<_> = model.records(model.at_or_after(timestamp)).into_iter().take(1).collect();
                assert_eq!(batch.unwrap().records, expected);
            }
            _ => unreachable!("{step:?} is no read"),
        }
    }

    /// A head never shows more than there is, nor less than before.
    fn look(&mut self, next: Lsn, end: u64, latest: bool) {
        assert!(self.seen <= next.0 && next.0 <= end && (!latest || next.0 == end), "{next} of {end}");
        self.seen = next.0;
    }
}

macro_rules! state_machine {
    ($name:ident, $store:expr) => {
        struct $name;

        impl StateMachineTest for $name {
            type SystemUnderTest = Handles;
            type Reference = Model;

            fn init_test(_: &Model) -> Handles {
                let (store, dir) = $store;
                Handles::new(store, dir)
            }

            fn apply(mut handles: Handles, model: &Model, step: Step) -> Handles {
                handles.apply(model, step);
                handles
            }

            fn teardown(handles: Handles, model: Model) {
                let all: Vec<_> = handles.reader.iter(Lsn(FIRST)).map(Result::unwrap).collect();
                assert_eq!(all, model.records(0));
            }
        }
    };
}

state_machine!(InMemory, (Arc::new(Memory::new()) as Arc<dyn Store>, None));
state_machine!(InDirectory, {
    let dir = tempfile::tempdir().unwrap();
    (Arc::new(LocalDir::open(dir.path()).unwrap()) as Arc<dyn Store>, Some(dir))
});

/// Cases are derived from the test's name, so that a run can be repeated.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest_state_machine::prop_state_machine! {
    #![proptest_config(cases(200))]
    #[test]
    fn a_log_in_memory_is_a_vec(sequential 1..40 => InMemory);
}

proptest_state_machine::prop_state_machine! {
    #![proptest_config(cases(8))]
    #[test]
    fn a_log_in_a_directory_is_a_vec(sequential 1..30 => InDirectory);
}
