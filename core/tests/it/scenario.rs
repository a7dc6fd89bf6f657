//! Scenarios are data: each line says what the caller does, which command must come and how it is answered, or which
//! event must come. `tests/scenarios/README.md` explains the words.
use crate::bucket::{Bucket, Write, kind};
use bucketlog_core::backoff::Backoff;
use bucketlog_core::boundary::{Command, Completion, Fault, GetReply, Machine, MonoTime, Now, RefusalKind, Version};
use bucketlog_core::format::catalog::{CatalogLayout, Head, Page, Step, Trim, trim};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::{Codec, Record, open_whole};
use bucketlog_core::ids::{Lsn, Partition, TimestampMs};
use bucketlog_core::writer::{
    AppendReason, HaltCause, PartPolicy, TimestampPolicy, Writer, WriterEvent, WriterOptions,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

const ME: u8 = 1;
/// Bytes of a large record: each makes a block of its own, two make a part of 5 MiB and more.
const LARGE: usize = 3 << 20;

pub(crate) struct Scene {
    bucket: Bucket,
    keys: LogKeys,
    options: WriterOptions,
    writer: Option<Writer>,
    /// Requests that were given up by their sender and may still land.
    ghosts: VecDeque<Write>,
    /// Requests that are answered later.
    held: VecDeque<Command>,
    events: VecDeque<WriterEvent>,
    saved_head: Option<bytes::Bytes>,
    rivals: u8,
    now: Now,
}

impl Scene {
    fn new() -> Self {
        let options = WriterOptions {
            layout: CatalogLayout { leaf_limit: 4, index_limit: 2, ..CatalogLayout::default() },
            backoff: Backoff { base: Duration::from_millis(100), max: Duration::from_secs(1) },
            patience: Duration::from_secs(5),
            budget: Duration::from_secs(60),
            ..WriterOptions::default()
        };
        Self {
            bucket: Bucket::default(),
            keys: LogKeys::new(&StreamId::new("orders").unwrap(), Partition(7)),
            options,
            writer: None,
            ghosts: VecDeque::new(),
            held: VecDeque::new(),
            events: VecDeque::new(),
            saved_head: None,
            rivals: 0,
            now: Now { mono: MonoTime(1), wall: TimestampMs(1_000) },
        }
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("the scenario opened a writer")
    }

    fn head(&self) -> Head {
        Head::decode(self.bucket.body(self.keys.head()).expect("there is a head")).unwrap()
    }

    /// The next command that is not CPU work; that is done on the way.
    fn next_command(&mut self) -> Option<Command> {
        loop {
            let now = self.now;
            let command = self.writer().poll_command(now);
            let command = match command {
                Some(command @ (Command::EncodeBlock(_) | Command::Cancel(_))) => {
                    if let Some(completion) = self.bucket.execute(command) {
                        self.writer().complete(now, completion);
                    }
                    continue;
                }
                other => other,
            };
            while let Some(event) = self.writer().poll_event() {
                if let WriterEvent::Opened { epoch, .. } | WriterEvent::EpochRenewed { epoch } = event {
                    assert_eq!(self.writer().epoch(), epoch);
                }
                self.events.push_back(event);
            }
            return command;
        }
    }

    /// Runs every command of a writer until it rests; gives its events.
    fn run(bucket: &mut Bucket, writer: &mut Writer, now: Now) -> Vec<WriterEvent> {
        while let Some(command) = writer.poll_command(now) {
            if let Some(completion) = bucket.execute(command) {
                writer.complete(now, completion);
            }
        }
        std::iter::from_fn(|| writer.poll_event()).collect()
    }

    fn rival(&mut self) -> Writer {
        self.rivals += 1;
        let mut rival = Writer::open(self.keys.clone(), self.options.clone(), [100 + self.rivals; 32]).unwrap();
        Self::run(&mut self.bucket, &mut rival, self.now);
        rival
    }

    /// What the caller or the world does.
    fn act(&mut self, line: &str) {
        let now = self.now;
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words[i].parse::<u64>().unwrap();
        match words[..] {
            ["start"] => self.writer = Some(Writer::open(self.keys.clone(), self.options.clone(), [ME; 32]).unwrap()),
            ["open"] => {
                self.act("start");
                let Self { bucket, writer, .. } = self;
                let events = Self::run(bucket, writer.as_mut().unwrap(), now);
                assert!(matches!(events[..], [WriterEvent::Opened { .. }]), "{events:?}");
                self.bucket.requests.clear();
            }
            ["option", name, value] => self.set_option(name, value),
            ["append", _] => (0..number(1)).for_each(|_| {
                let record = Record::new(now.wall, "x");
                self.writer().append(now, record).unwrap();
            }),
            ["append", "large", _] => (0..number(2)).for_each(|_| {
                let record = Record::new(now.wall, vec![7; LARGE]);
                self.writer().append(now, record).unwrap();
            }),
            ["uploads", "expire"] => self.bucket.expire_uploads(),
            ["uploads", _] => assert_eq!(self.bucket.open_uploads() as u64, number(1)),
            ["append", "refused", reason] => {
                let error = self.writer().append(now, Record::new(now.wall, "x")).unwrap_err();
                assert_eq!(reason_name(&error.reason), reason);
                assert_eq!(error.record, Record::new(now.wall, "x"), "the record comes back");
            }
            ["cut"] => self.writer().cut(now),
            ["await"] => {
                let accepted = self.writer().watermarks().accepted;
                self.writer().want_durable(accepted);
            }
            ["flush"] => drop(self.writer().flush(now)),
            ["close"] => drop(self.writer().close(now)),
            ["abort"] => self.writer().abort(),
            ["settle"] => {
                let Self { bucket, writer, .. } = self;
                let events = Self::run(bucket, writer.as_mut().unwrap(), now);
                self.events.extend(events);
            }
            ["rival", "claims"] => drop(self.rival()),
            ["rival", "appends", _] => {
                let mut rival = self.rival();
                for _ in 0..number(2) {
                    rival.append(now, Record::new(now.wall, "rival")).unwrap();
                }
                rival.flush(now);
                Self::run(&mut self.bucket, &mut rival, now);
            }
            ["clone", "appends", _] => {
                let mut clone = Writer::open(self.keys.clone(), self.options.clone(), [ME; 32]).unwrap();
                Self::run(&mut self.bucket, &mut clone, now);
                for _ in 0..number(2) {
                    clone.append(now, Record::new(now.wall, "clone")).unwrap();
                }
                clone.flush(now);
                Self::run(&mut self.bucket, &mut clone, now);
            }
            ["retain", "before", _] => retain(&mut self.bucket, &self.keys, Lsn(number(2))),
            ["head", "deleted"] => drop(self.bucket.remove(self.keys.head()).unwrap()),
            ["head", "saved"] => self.saved_head = self.bucket.body(self.keys.head()).cloned(),
            ["head", "restored"] => {
                let saved = self.saved_head.clone().unwrap();
                self.bucket.put(self.keys.head().to_owned(), saved);
            }
            [kind @ ("segments" | "pages"), what @ ("overwritten" | "deleted")] => {
                let of_kind = |key: &&str| format!("{}s", name_of(key)) == kind;
                for key in self.bucket.keys().filter(of_kind).map(String::from).collect::<Vec<_>>() {
                    match what {
                        "deleted" => drop(self.bucket.remove(&key)),
                        _ => drop(self.bucket.put(key, vec![0; 500].into())),
                    }
                }
            }
            ["land"] => {
                let ghost = self.ghosts.pop_front().expect("a request was given up");
                self.bucket.land(ghost);
            }
            ["release"] => {
                let command = self.held.pop_front().expect("a request was held");
                let completion = self.bucket.execute(command).unwrap();
                self.writer().complete(now, completion);
            }
            ["clock", "back", _] => self.now.wall.0 -= i64::try_from(number(2)).unwrap(),
            ["wait"] => {
                self.line("quiet");
                let deadline = self.writer().deadline().expect("the writer waits for a moment");
                assert!(deadline > self.now.mono, "the moment lies ahead");
                self.now.mono = deadline;
            }
            ["wait", _] if self.next_command().is_some() => panic!("a command comes before the wait"),
            ["wait", _] => self.now.mono = self.now.mono.after(Duration::from_secs(number(1))),
            _ => panic!("unknown action"),
        }
    }

    fn set_option(&mut self, name: &str, value: &str) {
        let number: u32 = value.parse().unwrap_or_default();
        match name {
            "self_takeover_after" => self.options.self_takeover_after = number,
            "max_batches" => self.options.pending.max_batches = number,
            "hide_versions" => self.bucket.hides_versions = true,
            "max_group" => self.options.max_group = number,
            "max_records" => self.options.batch.max_records = number,
            "max_age_ms" => self.options.batch.max_age = Some(Duration::from_millis(number.into())),
            "parts" => {
                let part_bytes = 5 << 20;
                self.options.codec = Codec::None;
                self.options.parts = Some(PartPolicy { threshold_bytes: part_bytes, part_bytes, parallel: number });
            }
            "no_parts" => self.bucket.takes_no_parts = true,
            "prove_store" => self.options.prove_store = true,
            "claim_attempts" => self.options.claim_attempts = number,
            "commit_interval_ms" => self.options.commit_interval = Duration::from_millis(number.into()),
            "pending_bytes" => {
                (self.options.batch.max_bytes, self.options.pending.max_bytes) = (number.into(), number.into());
            }
            "timestamps" => self.options.timestamps = TimestampPolicy::Clamp,
            _ => panic!("unknown option"),
        }
    }

    /// `GET head: ok` — the command that must come next, and its answer.
    fn command(&mut self, line: &str) {
        let (wanted, answer) = line.split_once(": ").expect("KIND target: answer");
        let command = self.next_command().unwrap_or_else(|| panic!("no command; events {:?}", self.events));
        assert_eq!(format!("{} {}", kind(&command), target(&command)), wanted);
        let now = self.now;
        let fault = match answer {
            "ok" => None,
            "taken" => {
                self.bucket.ignores_a_condition = true;
                None
            }
            "hold" => return self.held.push_back(command),
            "expired" => {
                self.ghosts.extend(Write::of(&command));
                self.now.mono = self.now.mono.after(self.options.patience);
                return;
            }
            "lost" => {
                Write::of(&command).into_iter().for_each(|write| self.bucket.land(write));
                Some(Fault::indeterminate("connection reset"))
            }
            "unknown" => {
                self.ghosts.extend(Write::of(&command));
                Some(Fault::indeterminate("timed out"))
            }
            "short" => return self.answer_short(command),
            "notsent" => Some(Fault::not_sent("no route")),
            "409" => Some(Fault::refused(RefusalKind::Conflict, "409")),
            "503" => Some(Fault::refused(RefusalKind::Throttled(None), "503")),
            "503 after 30 s" => Some(Fault::refused(RefusalKind::Throttled(Some(Duration::from_secs(30))), "503")),
            "503 after 1 h" => Some(Fault::refused(RefusalKind::Throttled(Some(Duration::from_secs(3600))), "503")),
            "404" => Some(Fault::refused(RefusalKind::NotFound, "404")),
            "400" => Some(Fault::refused(RefusalKind::Invalid, "400")),
            "403" => Some(Fault::refused(RefusalKind::Denied, "403")),
            other => panic!("unknown answer {other}"),
        };
        let completion: Option<Completion> = match fault {
            Some(fault) => command.fail(fault),
            None => self.bucket.execute(command),
        };
        self.writer().complete(now, completion.unwrap());
    }

    /// A read of which only the first half arrives.
    fn answer_short(&mut self, command: Command) {
        let Command::Get(op) = command else { panic!("only a read has a body to lose") };
        let (get, ticket) = op.split();
        let whole = self.bucket.body(get.key.as_str()).expect("the object exists");
        let (body, total_size) = (whole.slice(..whole.len() / 2), whole.len() as u64);
        let version = Some(Version::from("any"));
        let completion = ticket.done(Ok(GetReply::Found { body, version, total_size }));
        let now = self.now;
        self.writer().complete(now, completion);
    }

    fn event(&mut self, wanted: &str) {
        let found = self.events.pop_front();
        assert_eq!(found.as_ref().map_or("none".into(), describe), wanted);
    }

    fn line(&mut self, line: &str) {
        if let Some(command) = line.strip_prefix("> ") {
            return self.command(command);
        }
        // Before anything else is asked for, the machine says all it has to say.
        if let Some(wanted) = line.strip_prefix("< ") {
            if self.events.is_empty() {
                assert!(self.next_command().is_none(), "a command comes before this event");
            }
            return self.event(wanted);
        }
        if line == "quiet" {
            let command = self.next_command();
            assert!(command.is_none(), "unexpected command {command:?}");
            return assert!(self.events.is_empty(), "unexpected events {:?}", self.events);
        }
        if let Some(wanted) = line.strip_prefix("requests") {
            let mut found: Vec<String> = self.bucket.requests.iter().map(|(k, n)| format!("{k} {n}")).collect();
            found.retain(|request| !request.starts_with("ENCODE"));
            self.bucket.requests.clear();
            return assert_eq!(found.join(", "), wanted.trim());
        }
        if let Some(wanted) = line.strip_prefix("log ") {
            return assert_eq!(self.log(), wanted);
        }
        self.act(line);
    }

    /// The committed log in short: LSN ranges, checked to be dense, and the owner's epoch.
    fn log(&self) -> String {
        let head = self.head();
        for lsn in head.oldest_lsn.0..head.next_lsn.0 {
            let mut step = head.locate(Lsn(lsn));
            while let Step::Page(reference) = step {
                let body = self.bucket.body(&self.keys.page(&reference)).expect("a reachable page exists");
                step = Page::decode(body).unwrap().locate(Lsn(lsn));
            }
            let Step::Segment(entry) = step else { panic!("LSN {lsn} is not covered") };
            let key = self.keys.segment(entry.base_lsn, entry.writer_epoch, &entry.segment_id);
            let body = self.bucket.body(&key).unwrap_or_else(|| panic!("segment {key} of LSN {lsn} exists"));
            let opened = open_whole(body, true).unwrap();
            assert_eq!(opened.trailer.base_lsn, entry.base_lsn);
        }
        format!("{}..{} epoch {}", head.oldest_lsn, head.next_lsn, head.writer_epoch)
    }
}

/// Applies retention by hand, whoever owns the log.
pub(crate) fn retain(bucket: &mut Bucket, keys: &LogKeys, before: Lsn) {
    let head = Head::decode(bucket.body(keys.head()).expect("there is a head")).unwrap();
    let version = 1 + head.applied_retention_version;
    let mut pages: Vec<Arc<Page>> = Vec::new();
    loop {
        let known = |reference: &_| pages.iter().find(|page| page.reference == *reference).cloned();
        match trim(&head, version, before, &known).unwrap() {
            Trim::NeedPage(reference) => {
                let body = bucket.body(&keys.page(&reference)).unwrap();
                pages.push(Arc::new(Page::decode(body).unwrap()));
            }
            Trim::Done { head, pages } => {
                for page in pages {
                    bucket.put(keys.page(&page.reference), page.bytes);
                }
                bucket.put(keys.head(), head.encode());
                return;
            }
            Trim::Unchanged => return,
        }
    }
}

fn target(command: &Command) -> String {
    let key = match command {
        Command::CreateUpload(op) => &op.request().key,
        Command::UploadPart(op) => return format!("{}/{}", name_of(op.request().key.as_str()), op.request().number),
        Command::CompleteUpload(op) => &op.request().key,
        Command::AbortUpload(op) => &op.request().key,
        Command::Get(op) => &op.request().key,
        Command::Create(op) => &op.request().key,
        Command::Swap(op) => &op.request().key,
        other => panic!("a writer never sends {other:?}"),
    };
    name_of(key.as_str()).into()
}

fn name_of(key: &str) -> &'static str {
    match key {
        key if key.ends_with("head.plc") => "head",
        key if key.ends_with(".plseg") => "segment",
        _ => "page",
    }
}

fn reason_name(reason: &AppendReason) -> &'static str {
    match reason {
        AppendReason::Full => "full",
        AppendReason::TimestampOrder { .. } => "timestamp-order",
        AppendReason::NotOpen => "not-open",
        AppendReason::Closed => "closed",
        AppendReason::Halted(_) => "halted",
        AppendReason::Record(_) => "record",
        AppendReason::TooLarge { .. } => "too-large",
        AppendReason::LsnExhausted => "lsn-exhausted",
        _ => "?",
    }
}

fn describe(event: &WriterEvent) -> String {
    match event {
        WriterEvent::Opened { epoch, next_lsn, .. } => format!("opened epoch {epoch} next {next_lsn}"),
        WriterEvent::EpochRenewed { epoch } => format!("renewed epoch {epoch}"),
        WriterEvent::Committed { next_lsn } => format!("committed {next_lsn}"),
        WriterEvent::Room => "room".into(),
        WriterEvent::Closed { next_lsn } => format!("closed {next_lsn}"),
        WriterEvent::Halted(halted) => {
            let cause = match &halted.cause {
                HaltCause::Superseded { epoch, .. } => format!("superseded by epoch {epoch}"),
                HaltCause::Contended { epoch, attempts, .. } => format!("contended by epoch {epoch} after {attempts}"),
                HaltCause::ConditionsIgnored { .. } => "conditions-ignored".into(),
                HaltCause::HeadGone { .. } => "head-gone".into(),
                HaltCause::HeadRolledBack { seen, found, .. } => format!("rolled-back {seen} to {found}"),
                HaltCause::Corrupt { .. } => "corrupt".into(),
                HaltCause::KeyCollision { .. } => "key-collision".into(),
                HaltCause::ForeignCommit { .. } => "foreign-commit".into(),
                HaltCause::RetentionPassed { oldest } => format!("retention-passed {oldest}"),
                HaltCause::Unreachable { operation, .. } => format!("unreachable {operation}"),
                HaltCause::Refused { operation, .. } => format!("refused {operation}"),
                HaltCause::Aborted => "aborted".into(),
                other => format!("{other:?}"),
            };
            format!("halted {cause}; proven {} maybe {} accepted {}", halted.proven, halted.maybe, halted.accepted)
        }
        other => format!("{other:?}"),
    }
}

/// Plays every scenario of a file and names each that fails, with its line.
pub(crate) fn play(file: &str, text: &str) {
    let (mut scene, mut title, mut failures) = (Some(Scene::new()), "", Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix("== ") {
            (scene, title) = (Some(Scene::new()), name);
        } else if let Some(playing) = scene.as_mut().filter(|_| !line.is_empty())
            && std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| playing.line(line))).is_err()
        {
            failures.push(format!("{file}:{}: {title:?} at {line:?}", number + 1));
            scene = None;
        }
    }
    assert!(failures.is_empty(), "failed scenarios:\n{}", failures.join("\n"));
}
