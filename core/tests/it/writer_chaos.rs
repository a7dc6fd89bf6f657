//! Two or more writers over one bucket whose requests are lost, delayed past their sender's patience, and landed late.
//! The simulator does this at length; here a few thousand seeds guard the core by itself.
use crate::bucket::{Bucket, Write};
use bucketlog_core::backoff::Backoff;
use bucketlog_core::boundary::{Command, Fault, Machine, MonoTime, Now, RefusalKind};
use bucketlog_core::format::catalog::{CatalogLayout, Head, Page, SegmentEntry, Step};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::{BlockCodec, Record, open_whole};
use bucketlog_core::ids::{Lsn, Partition, TimestampMs};
use bucketlog_core::writer::{Fate, HaltCause, Status, Writer, WriterEvent, WriterOptions};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;

struct Site {
    writer: Writer,
    inflight: Vec<Command>,
    accepted: BTreeMap<Lsn, Bytes>,
    opened: bool,
    halted: bool,
}

struct World {
    bucket: Bucket,
    keys: LogKeys,
    sites: Vec<Site>,
    ghosts: Vec<Write>,
    now: Now,
    seed: u64,
    /// Values acknowledged as durable, by LSN.
    durable: BTreeMap<Lsn, Bytes>,
}

impl World {
    fn new(seed: u64) -> Self {
        let keys = LogKeys::new(&StreamId::new("chaos").unwrap(), Partition(3));
        let now = Now { mono: MonoTime(1), wall: TimestampMs(1) };
        let mut world = Self {
            bucket: Bucket::default(),
            keys,
            sites: Vec::new(),
            ghosts: Vec::new(),
            now,
            seed,
            durable: BTreeMap::new(),
        };
        world.add_site();
        world
    }

    fn pick(&mut self, bound: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.seed >> 33) % bound as u64).unwrap()
    }

    fn add_site(&mut self) {
        let options = WriterOptions {
            layout: CatalogLayout { leaf_limit: 2, index_limit: 2, ..CatalogLayout::default() },
            backoff: Backoff { base: Duration::from_millis(10), max: Duration::from_millis(50) },
            self_takeover_after: 2,
            budget: Duration::from_secs(3600),
            ..WriterOptions::default()
        };
        let name = u8::try_from(self.sites.len()).unwrap();
        let writer = Writer::open(self.keys.clone(), options, [name; 32]).unwrap();
        let (accepted, inflight) = (BTreeMap::new(), Vec::new());
        self.sites.push(Site { writer, inflight, accepted, opened: false, halted: false });
    }

    fn poll(&mut self, site: usize) {
        while let Some(command) = self.sites[site].writer.poll_command(self.now) {
            match command {
                Command::EncodeBlock(_) => {
                    let completion = self.bucket.execute(command).unwrap();
                    self.sites[site].writer.complete(self.now, completion);
                }
                Command::Cancel(_) => {}
                other => self.sites[site].inflight.push(other),
            }
        }
        while let Some(event) = self.sites[site].writer.poll_event() {
            self.news(site, event);
        }
    }

    fn news(&mut self, site: usize, event: WriterEvent) {
        match event {
            WriterEvent::Opened { .. } => self.sites[site].opened = true,
            WriterEvent::Committed { next_lsn } => {
                for (lsn, value) in self.sites[site].accepted.range(..next_lsn) {
                    let old = self.durable.insert(*lsn, value.clone());
                    assert!(old.is_none_or(|old| old == *value), "LSN {lsn} was acknowledged with two values");
                }
            }
            WriterEvent::Halted(halted) => {
                self.sites[site].halted = true;
                let rivals = self.sites.len() > 1;
                let fenced = matches!(halted.cause, HaltCause::Superseded { .. });
                assert!(rivals && fenced, "site {site} halted without a rival: {halted}");
            }
            _ => {}
        }
    }

    fn append(&mut self, site: usize) {
        let value = Bytes::from(format!("{site}:{}", self.sites[site].accepted.len()));
        let now = self.now;
        let Site { writer, accepted, .. } = &mut self.sites[site];
        if let Ok(lsn) = writer.append(now, Record::new(now.wall, value.clone())) {
            accepted.insert(lsn, value);
        }
        if self.pick(2) == 0 {
            self.sites[site].writer.cut(now);
        }
    }

    /// Answers one request in one of the ways a network has.
    fn answer(&mut self, site: usize) {
        let index = self.pick(self.sites[site].inflight.len());
        let command = self.sites[site].inflight.swap_remove(index);
        let lost = || Fault::indeterminate("lost");
        let completion = match self.pick(10) {
            0 => {
                Write::of(&command).into_iter().for_each(|write| self.bucket.land(write));
                command.fail(lost())
            }
            1 => {
                self.ghosts.extend(Write::of(&command));
                command.fail(lost())
            }
            2 => command.fail(Fault::not_sent("down")),
            3 => command.fail(Fault::refused(RefusalKind::Conflict, "busy")),
            4 => {
                // Nobody answers: only the writer's own deadline ends it.
                self.ghosts.extend(Write::of(&command));
                return;
            }
            _ => self.bucket.execute(command),
        };
        self.sites[site].writer.complete(self.now, completion.unwrap());
    }

    fn step(&mut self) {
        let site = self.pick(self.sites.len());
        match self.pick(12) {
            0..=2 => self.append(site),
            3..=7 if !self.sites[site].inflight.is_empty() => self.answer(site),
            8 if !self.ghosts.is_empty() => {
                let index = self.pick(self.ghosts.len());
                let ghost = self.ghosts.swap_remove(index);
                self.bucket.land(ghost);
            }
            9 if self.sites.len() < 4 && self.pick(12) == 0 => self.add_site(),
            10 | 11 => {
                let deadline = self.sites[site].writer.deadline().unwrap_or(self.now.mono);
                self.now.mono = self.now.mono.max(deadline);
                self.now.wall.0 += 1;
            }
            _ => {}
        }
        self.poll(site);
    }

    /// Faults stop: every request is answered, everything accepted by a living writer commits.
    fn quiesce(&mut self) {
        for ghost in std::mem::take(&mut self.ghosts) {
            self.bucket.land(ghost);
        }
        for round in 0..2_000 {
            let mut idle = true;
            for site in 0..self.sites.len() {
                let now = self.now;
                self.sites[site].writer.flush(now);
                self.poll(site);
                while let Some(command) = self.sites[site].inflight.pop() {
                    idle = false;
                    let completion = self.bucket.execute(command).unwrap();
                    self.sites[site].writer.complete(now, completion);
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
            assert!(round < 1_999, "no rest in quiet times");
        }
    }

    fn entry(&self, head: &Head, lsn: Lsn) -> SegmentEntry {
        let mut step = head.locate(lsn);
        while let Step::Page(reference) = step {
            let page = self.bucket.body(&self.keys.page(&reference)).expect("a reachable page exists");
            step = Page::decode(page).unwrap().locate(lsn);
        }
        let Step::Segment(entry) = step else { panic!("LSN {lsn} is not covered") };
        entry
    }

    /// Every record of the log.
    fn log(&self) -> BTreeMap<Lsn, Bytes> {
        let head = Head::decode(self.bucket.body(self.keys.head()).expect("a head exists")).unwrap();
        let (mut log, mut codec, mut next) = (BTreeMap::new(), BlockCodec::new(), head.oldest_lsn);
        while next < head.next_lsn {
            let entry = self.entry(&head, next);
            let key = self.keys.segment(entry.base_lsn, entry.writer_epoch, &entry.segment_id);
            let index = open_whole(self.bucket.body(&key).expect("a committed segment exists"), true).unwrap();
            let object = self.bucket.body(&key).unwrap();
            for (i, block) in index.entries.iter().enumerate() {
                let range = index.block_range(i).unwrap();
                let bytes = object.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap());
                let stored = index.block_payload(i, &bytes).unwrap();
                let decoded = codec.open(&block.meta, &stored, entry.codec, entry.hash, range.start + 64).unwrap();
                log.extend(decoded.records().map(|record| (record.lsn, Bytes::copy_from_slice(record.value))));
            }
            next = Lsn(entry.last_lsn.0 + 1);
        }
        log
    }

    fn check(&self) {
        let log = self.log();
        for (lsn, value) in &self.durable {
            assert_eq!(log.get(lsn), Some(value), "acknowledged record {lsn} is lost or changed");
        }
        for site in &self.sites {
            match site.writer.status() {
                Status::Open { .. } => {
                    for (lsn, value) in &site.accepted {
                        assert_eq!(self.durable.get(lsn), Some(value), "a living writer commits what it accepted");
                    }
                }
                Status::Halted(halted) => {
                    for (lsn, value) in &site.accepted {
                        let is_there = log.get(lsn) == Some(value);
                        match halted.fate(*lsn) {
                            Fate::Committed => assert!(is_there, "{lsn} is committed"),
                            Fate::NotCommitted => assert!(!is_there, "{lsn} is not committed"),
                            Fate::Indeterminate => {}
                        }
                    }
                }
                other => assert!(!site.opened, "unexpected rest: {other:?}"),
            }
        }
        assert!(self.sites.iter().any(|site| site.opened && !site.halted), "somebody owns the log");
    }
}

#[test]
fn no_acknowledged_record_is_lost_and_nobody_is_fenced_without_a_rival() {
    for seed in 0..3_000 {
        let played = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            (0..250).for_each(|_| world.step());
            world.quiesce();
            world.check();
        });
        assert!(played.is_ok(), "seed {seed}");
    }
}
