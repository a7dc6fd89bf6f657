//! Two or more writers over one bucket whose requests are lost, delayed past their sender's patience, and landed late,
//! under stores and options of every kind. The simulator does this at length; here some seeds guard the core by itself.
//! `BUCKETLOG_CHAOS_SEEDS` asks for more of them.
use crate::bucket::{Bucket, Write};
use crate::scenario::retain;
use crate::witness::{Witness, locate};
use bucketlog_core::backoff::Backoff;
use bucketlog_core::boundary::{Command, Fault, Machine, MonoTime, Now, OpId, RefusalKind};
use bucketlog_core::format::catalog::{CatalogLayout, Head};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, Partition, TimestampMs};
use bucketlog_core::pace::HedgePolicy;
use bucketlog_core::writer::{
    AppendReason, BatchPolicy, Fate, HaltCause, Halted, PartPolicy, PendingLimits, Status, TimestampPolicy, Writer,
    WriterEvent, WriterOptions,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;

const DEFAULT_SEEDS: u64 = 2_000;
const PARALLEL_UPLOADS: u32 = 2;
const PARALLEL_PARTS: u32 = 3;
/// Uploads and their twins, parts, pages, one request for the head, one for an upload to be thrown away, and one for each upload that is
/// begun or completed.
const MAX_IN_FLIGHT: usize = 2 * PARALLEL_UPLOADS as usize + PARALLEL_PARTS as usize + 4 + 1 + 1 + 4;

/// All that a writer ever asks for.
const KINDS: [&str; 8] = ["GET", "CREATE", "SWAP", "ENCODE", "BEGIN", "PART", "COMPLETE", "ABORT"];

struct Site {
    writer: Writer,
    inflight: Vec<Command>,
    accepted: BTreeMap<Lsn, Bytes>,
    batches: Vec<(Lsn, Lsn)>,
    /// What its caller waits for: records to be durable, room for a refused append, the end.
    wanted: Lsn,
    starved: bool,
    closing: bool,
    durable: Lsn,
}

/// What may happen in one world beyond a bad network.
#[expect(clippy::struct_excessive_bools, reason = "four things that come and stay away independently")]
#[derive(Clone, Copy, Debug, Default)]
struct Climate {
    denials: bool,
    retention: bool,
    /// The head is deleted, or an older one is put back: nothing holds then but that everybody gets an answer.
    head_hands: bool,
    ends: bool,
}

struct World {
    bucket: Bucket,
    keys: LogKeys,
    options: WriterOptions,
    climate: Climate,
    sites: Vec<Site>,
    ghosts: Vec<Write>,
    saved_head: Option<Bytes>,
    witness: Witness,
    now: Now,
    seed: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let keys = LogKeys::new(&StreamId::new("chaos").unwrap(), Partition(3));
        let now = Now { mono: MonoTime(1), wall: TimestampMs(1) };
        let mut world = Self {
            bucket: Bucket::default(),
            keys,
            options: WriterOptions::default(),
            climate: Climate::default(),
            sites: Vec::new(),
            ghosts: Vec::new(),
            saved_head: None,
            witness: Witness::default(),
            now,
            seed,
        };
        world.choose_climate();
        world.add_site();
        world
    }

    fn choose_climate(&mut self) {
        self.bucket.hashes_content = self.one_in(2);
        self.bucket.hides_versions = self.one_in(3);
        self.climate = Climate {
            denials: self.one_in(8),
            retention: self.one_in(3),
            head_hands: self.one_in(8),
            ends: self.one_in(3),
        };
        self.bucket.takes_no_parts = self.one_in(8);
        // Tiny parts where models may have them, as in a build of the whole workspace.
        let part_bytes = PartPolicy::MIN_PART_BYTES.max(250);
        let parts = PartPolicy { threshold_bytes: 2 * part_bytes, part_bytes, parallel: PARALLEL_PARTS };
        let tight = self.one_in(3);
        self.options = WriterOptions {
            layout: CatalogLayout { leaf_limit: 2, index_limit: 2, ..CatalogLayout::default() },
            block_bytes: [40, 1 << 20][self.pick(2)],
            batch: BatchPolicy {
                max_records: [3, 16_384][self.pick(2)],
                max_bytes: if tight { 64 } else { 1 << 20 },
                max_age: [None, Some(Duration::from_millis(20))][self.pick(2)],
                max_linger: Duration::from_micros([0, 500, 1_000_000][self.pick(3)]),
            },
            pending: PendingLimits {
                max_batches: 1 + u32::try_from(self.pick(3)).unwrap(),
                max_bytes: if tight { [64, 150][self.pick(2)] } else { 1 << 20 },
            },
            timestamps: [TimestampPolicy::Reject, TimestampPolicy::Clamp][self.pick(2)],
            backoff: Backoff { base: Duration::from_millis(10), max: Duration::from_millis(50) },
            parallel_uploads: PARALLEL_UPLOADS,
            commit_interval: Duration::from_millis([0, 0, 30][self.pick(3)]),
            max_group: [1, 2, 3, 1024][self.pick(4)],
            self_takeover_after: 1 + u32::try_from(self.pick(3)).unwrap(),
            budget: Duration::from_secs(36_000),
            parts: self.one_in(2).then_some(parts),
            hedge: self.one_in(3).then_some(HedgePolicy { percent: 100, least: Duration::from_millis(1) }),
            ..WriterOptions::default()
        };
    }

    fn pick(&mut self, bound: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.seed >> 33) % bound as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.pick(n) == 0
    }

    fn add_site(&mut self) {
        let name = u8::try_from(self.sites.len()).unwrap();
        let writer = Writer::open(self.keys.clone(), self.options.clone(), [name; 32]).unwrap();
        self.sites.push(Site {
            writer,
            inflight: Vec::new(),
            accepted: BTreeMap::new(),
            batches: Vec::new(),
            wanted: Lsn(0),
            starved: false,
            closing: false,
            durable: Lsn(0),
        });
    }

    fn poll(&mut self, site: usize) {
        let mut polls = 0;
        while let Some(command) = self.sites[site].writer.poll_command(self.now) {
            match command {
                Command::EncodeBlock(_) => self.execute(site, command),
                Command::Cancel(id) => self.cancel(site, id),
                other => self.sites[site].inflight.push(other),
            }
            polls += 1;
            assert!(polls < 500, "a writer that never stops asking");
        }
        let Site { writer, inflight, .. } = &self.sites[site];
        assert!(writer.deadline().is_none_or(|at| at > self.now.mono), "the deadline lies ahead of a rest");
        assert!(inflight.len() <= MAX_IN_FLIGHT, "requests in flight are bounded");
        while let Some(event) = self.sites[site].writer.poll_event() {
            self.news(site, event);
        }
    }

    /// A request that is given up may land all the same.
    fn cancel(&mut self, site: usize, id: OpId) {
        let inflight = &mut self.sites[site].inflight;
        if let Some(index) = inflight.iter().position(|command| command.id() == id) {
            self.ghosts.extend(Write::of(&inflight.swap_remove(index)));
        }
    }

    fn execute(&mut self, site: usize, command: Command) {
        let completion = self.bucket.execute(command).unwrap();
        self.look();
        self.sites[site].writer.complete(self.now, completion);
    }

    fn land(&mut self, write: Write) {
        self.bucket.land(write);
        self.look();
    }

    fn look(&mut self) {
        if !self.climate.head_hands {
            self.witness.look(&self.bucket, &self.keys);
        }
    }

    fn news(&mut self, site: usize, event: WriterEvent) {
        match event {
            WriterEvent::Committed { next_lsn } | WriterEvent::Closed { next_lsn } => {
                self.sites[site].durable = next_lsn;
                if !self.climate.head_hands {
                    for (lsn, value) in self.sites[site].accepted.range(..next_lsn) {
                        assert_eq!(self.witness.log.get(lsn), Some(value), "acknowledged record {lsn} is in the log");
                    }
                }
            }
            WriterEvent::Opened { writer_id, .. } => self.witness.opened.push(writer_id),
            WriterEvent::Room => self.sites[site].starved = false,
            WriterEvent::Halted(halted) => self.check_cause(site, &halted),
            _ => {}
        }
    }

    /// A writer stops for no other reason than the ones that this world has.
    fn check_cause(&self, site: usize, halted: &Halted) {
        let Climate { denials, retention, head_hands, ends } = self.climate;
        let allowed = match &halted.cause {
            HaltCause::Superseded { epoch, writer } => {
                let rival = *writer != self.sites[site].writer.writer_id();
                head_hands || (rival && self.witness.saw_owner(*epoch, *writer))
            }
            HaltCause::Refused { .. } => denials,
            HaltCause::RetentionPassed { .. } => retention,
            HaltCause::ForeignCommit { .. } => retention || head_hands,
            HaltCause::HeadGone { .. } | HaltCause::HeadRolledBack { .. } => head_hands,
            HaltCause::Aborted => ends,
            _ => false,
        };
        assert!(allowed, "site {site} halted without a reason: {halted}");
    }

    fn record(&mut self, site: usize, nth: usize) -> Record {
        let number = self.sites[site].accepted.len() + nth;
        Record::new(self.now.wall, format!("{site}:{number}"))
    }

    fn append(&mut self, site: usize) {
        let (now, record) = (self.now, self.record(site, 0));
        let value = record.value.clone();
        let result = self.sites[site].writer.append(now, record).map_err(|error| error.reason);
        let Site { accepted, starved, .. } = &mut self.sites[site];
        match result {
            Ok(lsn) => drop(accepted.insert(lsn, value)),
            Err(AppendReason::Full) => *starved = true,
            Err(_) => {}
        }
    }

    fn append_batch(&mut self, site: usize) {
        let count = 1 + self.pick(3);
        let records: Vec<Record> = (0..count).map(|nth| self.record(site, nth)).collect();
        let result = self.sites[site].writer.append_batch(self.now, records.clone());
        let Site { accepted, batches, starved, .. } = &mut self.sites[site];
        match result {
            Ok(range) => {
                batches.push((range.start, Lsn(range.end.0 - 1)));
                accepted.extend((range.start.0..).map(Lsn).zip(records.into_iter().map(|record| record.value)));
            }
            Err(error) => {
                *starved |= error.reason == AppendReason::Full;
                assert_eq!(error.records, records, "a refused batch comes back as it was");
            }
        }
    }

    fn call(&mut self, site: usize) {
        let (now, choice, ends) = (self.now, self.pick(40), self.climate.ends);
        let Site { writer, wanted, accepted, closing, .. } = &mut self.sites[site];
        let end = accepted.last_key_value().map_or(Lsn(0), |(lsn, _)| Lsn(lsn.0 + 1));
        match choice {
            0..=9 => writer.cut(now),
            10..=19 => drop(writer.flush(now)),
            20..=29 => writer.want_durable(end),
            30 if ends => {
                writer.close(now);
                *closing = true;
            }
            31 if ends => writer.abort(),
            _ => return,
        }
        *wanted = (*wanted).max(end);
    }

    /// Somebody else's hand at the bucket.
    fn meddle(&mut self) {
        let Some(head) = self.bucket.body(self.keys.head()).cloned() else { return };
        if self.climate.retention && self.one_in(3) {
            let Head { next_lsn, applied_retention_lsn: applied, .. } = Head::decode(&head).unwrap();
            let further = self.pick(usize::try_from(next_lsn.0 - applied.0).unwrap() + 1);
            retain(&mut self.bucket, &self.keys, Lsn(applied.0 + further as u64));
            self.look();
        }
        if self.climate.head_hands {
            match self.pick(8) {
                0 => drop(self.bucket.remove(self.keys.head())),
                1 | 2 => self.saved_head = Some(head),
                3 => {
                    if let Some(saved) = self.saved_head.clone() {
                        self.bucket.put(self.keys.head().to_owned(), saved);
                    }
                }
                _ => {}
            }
        }
    }

    /// Answers one request in one of the ways a network has.
    fn answer(&mut self, site: usize) {
        let index = self.pick(self.sites[site].inflight.len());
        let command = self.sites[site].inflight.swap_remove(index);
        let lost = || Fault::indeterminate("lost");
        let fault = match self.pick(13) {
            0 => {
                Write::of(&command).into_iter().for_each(|write| self.land(write));
                lost()
            }
            1 => {
                self.ghosts.extend(Write::of(&command));
                lost()
            }
            // Nobody answers: only the writer's own deadline ends it.
            2 => return self.ghosts.extend(Write::of(&command)),
            3 => Fault::not_sent("down"),
            4 => Fault::refused(RefusalKind::Conflict, "busy"),
            5 => Fault::refused(RefusalKind::Throttled(Some(Duration::from_secs(1))), "slow down"),
            6 if self.climate.denials => Fault::refused(RefusalKind::Denied, "no"),
            _ => return self.execute(site, command),
        };
        self.sites[site].writer.complete(self.now, command.fail(fault).unwrap());
    }

    fn step(&mut self) {
        let site = self.pick(self.sites.len());
        match self.pick(14) {
            0 | 1 => self.append(site),
            2 => self.append_batch(site),
            3 => self.call(site),
            4..=8 if !self.sites[site].inflight.is_empty() => self.answer(site),
            9 if !self.ghosts.is_empty() => {
                let index = self.pick(self.ghosts.len());
                let ghost = self.ghosts.swap_remove(index);
                self.land(ghost);
            }
            10 if self.sites.len() < 4 && self.one_in(12) => self.add_site(),
            11 if self.one_in(4) => self.meddle(),
            12 | 13 => {
                let deadline = self.sites[site].writer.deadline().unwrap_or(self.now.mono);
                self.now.mono = self.now.mono.max(deadline);
                self.now.wall.0 += i64::try_from(self.pick(4)).unwrap() - 1;
            }
            _ => {}
        }
        self.poll(site);
    }

    /// Faults stop and every request is answered until nothing is left to do.
    fn settle(&mut self) {
        for ghost in std::mem::take(&mut self.ghosts) {
            self.land(ghost);
        }
        for _ in 0..2_000 {
            let mut idle = true;
            for site in 0..self.sites.len() {
                self.poll(site);
                while let Some(command) = self.sites[site].inflight.pop() {
                    idle = false;
                    self.execute(site, command);
                    self.poll(site);
                }
                if let Some(deadline) = self.sites[site].writer.deadline() {
                    idle = false;
                    self.now.mono = self.now.mono.max(deadline);
                }
            }
            if idle {
                return;
            }
        }
        panic!("no rest in quiet times");
    }

    /// Nobody who waits is forgotten, and nobody has to call again to be served.
    fn check_waiters(&self) {
        for (name, site) in self.sites.iter().enumerate() {
            match site.writer.status() {
                Status::Open { .. } => {
                    assert!(site.durable >= site.wanted, "site {name} waits for {}", site.wanted);
                    assert!(!site.starved, "site {name} waits for room");
                    assert!(!site.closing, "site {name} waits for its end");
                }
                Status::Closed | Status::Halted(_) => {}
                other => panic!("site {name} rests while {other:?}"),
            }
        }
    }

    fn check_fates(&self) {
        let log = &self.witness.log;
        for site in &self.sites {
            for (lsn, value) in &site.accepted {
                let is_there = log.get(lsn) == Some(value);
                let fate = match site.writer.status() {
                    Status::Halted(halted) => halted.fate(*lsn),
                    _ => Fate::Committed,
                };
                match fate {
                    Fate::Committed => assert!(is_there, "{lsn} is committed"),
                    Fate::NotCommitted => assert!(!is_there, "{lsn} is not committed"),
                    Fate::Indeterminate => {}
                }
            }
            let committed = site.batches.iter().filter(|(first, _)| log.get(first) == site.accepted.get(first));
            for (first, last) in committed {
                assert!(self.witness.in_one_segment(*first, *last), "a batch is one segment: {first} to {last}");
            }
            assert_eq!(site.writer.held_bytes(), 0, "nothing is held when nothing is pending");
        }
    }

    /// What readers find is what was acknowledged, above the floor of retention.
    fn check_log(&self) {
        let Some(head) = self.bucket.body(self.keys.head()) else { return assert!(self.witness.log.is_empty()) };
        let head = Head::decode(head).unwrap();
        let mut next = head.oldest_lsn;
        while next < head.next_lsn {
            let entry = locate(&self.bucket, &self.keys, &head, next);
            assert!(entry.record_count <= self.options.batch.max_records, "a segment is no larger than it may be");
            assert_eq!(self.witness.segments.get(&entry.base_lsn), Some(&entry.last_lsn), "segments never change");
            next = Lsn(entry.last_lsn.0 + 1);
        }
        assert_eq!(next.0, self.witness.log.len() as u64, "every LSN was committed once");
    }

    fn play(seed: u64) {
        let mut world = Self::new(seed);
        (0..250).for_each(|_| world.step());
        world.settle();
        world.check_waiters();
        for site in 0..world.sites.len() {
            world.sites[site].writer.flush(world.now);
        }
        world.settle();
        assert!(world.bucket.requests.keys().all(|kind| KINDS.contains(kind)));
        if !world.climate.head_hands {
            world.check_fates();
            world.check_log();
        }
        let Climate { denials, retention, head_hands, ends } = world.climate;
        let owned = world.sites.iter().any(|site| matches!(site.writer.status(), Status::Open { .. }));
        assert!(owned || denials || retention || head_hands || ends, "somebody owns the log");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may be asked for more seeds")]
fn no_acknowledged_record_is_lost_and_nobody_is_fenced_without_a_rival() {
    let seeds = std::env::var("BUCKETLOG_CHAOS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(DEFAULT_SEEDS);
    for seed in 0..seeds {
        assert!(std::panic::catch_unwind(|| World::play(seed)).is_ok(), "seed {seed}");
    }
}
