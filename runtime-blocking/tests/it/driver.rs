//! Handles over a driver that is not this crate's: one thread, one command at a time.
use crate::world::{PARTITION, options, record, stream};
use bucketlog_blocking::driver::{Driven, Driver, MachineId};
use bucketlog_blocking::error::{DurabilityError, HaltCause, ReadError};
use bucketlog_blocking::initialize::InitializeOptions;
use bucketlog_blocking::reader::{Freshness, ReadLimit, ReaderOptions};
use bucketlog_blocking::store::{Memory, Store};
use bucketlog_blocking::{Log, LogOptions, Lsn, now};
use bucketlog_core::boundary::{Command, Completion, Fault, MonoTime, Now, Op, OpId, Request};
use bucketlog_core::format::segment::BlockCodec;
use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

type Job = (Arc<dyn Driven>, Command);

/// Time stands still.
#[derive(Debug)]
struct OneThread {
    jobs: Mutex<Sender<Job>>,
    machines: Mutex<BTreeMap<MachineId, Weak<dyn Driven>>>,
}

fn answer<R: Request>(op: Op<R>, run: impl FnOnce(&R) -> Result<R::Reply, Fault>) -> Completion {
    let (request, ticket) = op.split();
    ticket.done(run(&request))
}

fn execute(store: &Memory, command: Command) -> Option<Completion> {
    let mut codec = BlockCodec::default();
    let until = crate::soon();
    Some(match command {
        Command::Get(op) => answer(op, |request| store.get(request, until)),
        Command::Create(op) => answer(op, |request| store.create(request, until)),
        Command::Swap(op) => answer(op, |request| store.swap(request, until)),
        Command::EncodeBlock(op) => answer(op, |request| Ok(request.run(&mut codec))),
        Command::DecodeBlock(op) => answer(op, |request| Ok(request.run(&mut codec))),
        other => return other.fail(Fault::not_sent("not part of the test")),
    })
}

impl OneThread {
    fn start() -> Arc<Self> {
        let (jobs, queue) = channel::<Job>();
        thread::spawn(move || {
            let store = Memory::new();
            for (machine, command) in queue {
                let _ = execute(&store, command).map(|answer| machine.complete(answer));
            }
        });
        Arc::new(Self { jobs: Mutex::new(jobs), machines: Mutex::default() })
    }

    /// Executes nothing, ever.
    fn stuck() -> (Arc<Self>, std::sync::mpsc::Receiver<Job>) {
        let (jobs, queue) = channel();
        (Arc::new(Self { jobs: Mutex::new(jobs), machines: Mutex::default() }), queue)
    }

    fn machines(&self) -> Vec<Arc<dyn Driven>> {
        self.machines.lock().unwrap().values().filter_map(Weak::upgrade).collect()
    }
}

impl Driver for OneThread {
    fn now(&self) -> Now {
        Now { mono: MonoTime(0), wall: now() }
    }
    fn add(&self, machine: MachineId, driven: Weak<dyn Driven>) {
        self.machines.lock().unwrap().insert(machine, driven);
    }
    fn remove(&self, machine: MachineId) {
        self.machines.lock().unwrap().remove(&machine);
    }
    fn submit(&self, machine: &Arc<dyn Driven>, commands: Vec<Command>) {
        for command in commands {
            self.jobs.lock().unwrap().send((Arc::clone(machine), command)).unwrap();
        }
    }
    fn cancel(&self, _: MachineId, _: OpId) {}
    fn set_timer(&self, _: MachineId, _: MonoTime, _: Option<MonoTime>) {}
}

fn log_over(driver: Arc<OneThread>) -> Log {
    Log::driven_by(driver, stream(), LogOptions { prove_store: false, ..LogOptions::default() })
}

#[test]
fn blocking_calls_and_futures_work_over_another_driver() {
    let driver = OneThread::start();
    let log = log_over(Arc::clone(&driver));
    let mut writer = log.writer(PARTITION, options()).unwrap();
    assert_eq!(writer.append_durable(record(1)).unwrap(), Lsn(0));
    assert_eq!(pollster::block_on(writer.append_durable_async(record(2))).unwrap(), Lsn(1));
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    assert_eq!(reader.fetch(Lsn(1)), Ok(record(2)));
    assert_eq!(driver.machines().len(), 2);
    drop(reader);
    assert_eq!(writer.close(), Ok(Lsn(2)));
}

#[test]
fn the_end_of_a_driver_answers_everyone_who_waits() {
    let (driver, queue) = OneThread::stuck();
    let log = log_over(Arc::clone(&driver));
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    let waits = [
        thread::spawn({
            let log = log.clone();
            move || log.writer(PARTITION, options()).is_err()
        }),
        thread::spawn({
            let reader = reader.clone();
            move || matches!(reader.fetch(Lsn(0)), Err(ReadError::Unreachable { attempts: 0, .. }))
        }),
        thread::spawn({
            let log = log.clone();
            move || log.initialize_partition(PARTITION, Lsn(5), &InitializeOptions::default()).is_err()
        }),
    ];
    // Each has sent its first command when the queue holds three.
    let sent: Vec<_> = queue.iter().take(3).collect();
    driver.machines().iter().for_each(|machine| machine.end());
    assert!(waits.into_iter().all(|wait| wait.join().unwrap()));
    assert!(reader.read(Lsn(0), ReadLimit::default(), Freshness::Latest).is_err(), "also calls that come later");
    drop(sent);
}

#[test]
fn a_writer_that_ends_with_its_driver_tells_what_is_known() {
    let driver = OneThread::start();
    let log = log_over(Arc::clone(&driver));
    let mut writer = log.writer(PARTITION, options()).unwrap();
    let durable = writer.append_durable(record(1)).unwrap();
    let pending = writer.append(record(2)).unwrap();
    driver.machines().iter().for_each(|machine| machine.end());
    assert_eq!(writer.committed().get(), Lsn(durable.0 + 1));
    let Err(DurabilityError::NotCommitted(halted)) = pending.durability.wait() else { panic!("it was never sent") };
    assert_eq!(halted.cause, HaltCause::Aborted);
}

#[test]
fn a_driver_hears_of_every_machine_that_goes() {
    let driver = OneThread::start();
    let log = log_over(Arc::clone(&driver));
    let readers: Vec<_> = (0..3).map(|_| log.reader(PARTITION, ReaderOptions::default()).unwrap()).collect();
    assert_eq!(driver.machines.lock().unwrap().len(), 3);
    drop(readers);
    assert_eq!(driver.machines.lock().unwrap().len(), 0);
}
