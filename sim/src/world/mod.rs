//! The world: a bucket, processes, requests under way, and requests that went astray.
mod answer;
mod offer;
mod outside;
mod pace;
mod quiesce;

pub(crate) use answer::{RETRY_AFTER, damaged};

use crate::action::{Action, Kind, Turn};
use crate::check::log::{Author, Log};
use crate::check::{Violation, ensure};
use crate::news::News;
use crate::process::initializer::InitializerProcess;
use crate::process::reader::ReaderProcess;
use crate::process::writer::WriterProcess;
use crate::process::{Context, Excuses, Role};
use crate::setup::Setup;
use crate::store::{Reply, Store};
use bucketlog_core::boundary::{Command, Key, MonoTime, Now, OpId};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::BlockCodec;
use bucketlog_core::ids::{Partition, TimestampMs, WriterId};
use pace::Pace;
use std::collections::BTreeMap;
use std::time::Duration;

/// Commands that one machine may ask for without any news in between.
const MAX_BURST: usize = 32;
/// Requests of one process that wait for an answer.
const MAX_IN_FLIGHT: usize = 24;
/// Stray requests that are kept; the oldest is forgotten, as if it never landed.
const MAX_STRAYS: usize = 12;
const MINUTE_MS: i64 = 60_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// A request that has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Flight {
    command: Command,
    kind: Kind,
    /// Its sender, and what that had seen when it sent the request.
    author: Author,
    /// Its sender no longer waits.
    given_up: bool,
}

/// A write that nobody waits for; it may land at any time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Stray {
    command: Command,
    kind: Kind,
    site: u8,
    author: Author,
}

/// A process with its clocks and its requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Site {
    role: Role,
    now: Now,
    flights: Vec<Flight>,
    frozen: bool,
    excuses: Excuses,
    writer_id: Option<WriterId>,
    /// Writes that the store asked to see again only then. (Reads of one object may ask for different parts of it.)
    put_off: BTreeMap<(Kind, Key), MonoTime>,
    pace: Pace,
    /// When the store took its last write of the head.
    wrote_head: Option<MonoTime>,
}

impl Site {
    fn is_gone(&self) -> bool {
        matches!(self.role, Role::Gone)
    }

    fn author(&self) -> Author {
        let seen = self.excuses.seen;
        self.writer_id.map_or(Author::Initializer(seen), |writer| Author::Writer(writer, seen))
    }
}

/// Everything there is. Two worlds that are equal behave equally for ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    setup: Setup,
    keys: LogKeys,
    head_key: Key,
    store: Store,
    log: Log,
    sites: Vec<Site>,
    strays: Vec<Stray>,
    rivals: u8,
}

impl World {
    /// An empty bucket and one writer that begins to claim it.
    ///
    /// # Errors
    /// A set-up that the machines refuse.
    pub fn new(setup: Setup) -> Result<Self, Violation> {
        let stream = StreamId::new("sim").map_err(|error| Violation::new("the stream's name is valid", error))?;
        let keys = LogKeys::new(&stream, Partition(1));
        let mut world = Self {
            head_key: keys.head().into(),
            store: Store::new(setup.versions, setup.tells_versions()),
            log: Log::default(),
            sites: Vec::new(),
            strays: Vec::new(),
            rivals: 0,
            setup,
            keys,
        };
        let first = world.start(Turn::StartWriter)?;
        world.poll(first, &mut Vec::new())?;
        Ok(world)
    }

    /// The history of the log.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The bucket.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Writes of a process that nobody has answered yet, by kind and number within the kind.
    #[must_use]
    pub fn writes_in_flight(&self, site: u8) -> Vec<(Kind, u8)> {
        let mut seen = [0_u8; Kind::ALL.len()];
        let mut writes = Vec::new();
        for flight in self.sites.get(usize::from(site)).into_iter().flat_map(|site| &site.flights) {
            let nth = &mut seen[flight.kind as usize];
            if flight.kind.is_write() {
                writes.push((flight.kind, *nth));
            }
            *nth += 1;
        }
        writes
    }

    /// Does one step, checks it, and adds what it let happen to `news`. `false` if the action is impossible now; then
    /// nothing changed.
    ///
    /// # Errors
    /// A broken rule. The world is of no use afterwards.
    pub fn step(&mut self, action: Action, news: &mut Vec<News>) -> Result<bool, Violation> {
        match action {
            Action::Call { call, site } => {
                let Some(found) = self.sites.get(usize::from(site)).filter(|found| !found.frozen) else {
                    return Ok(false);
                };
                let mut is_offered = false;
                found.role.offers(self.setup.appends, &mut |offered| is_offered |= offered == call);
                if !is_offered {
                    return Ok(false);
                }
                self.with(site, news, |role, context| role.call(call, context))?;
                self.poll(site, news)?;
            }
            Action::Answer { site, kind, nth, how } => {
                let Some(position) = self.position(site, kind, nth) else { return Ok(false) };
                if !self.may_answer(site, position, how) {
                    return Ok(false);
                }
                self.answer(site, position, how, news)?;
            }
            Action::Turn { turn, subject } => return self.turn(turn, subject, news),
        }
        Ok(true)
    }

    /// Compares the whole log, byte for byte, with its history.
    ///
    /// # Errors
    /// A broken rule.
    pub fn check_all(&self) -> Result<(), Violation> {
        self.log.check_all(&self.store, &self.keys)
    }

    fn turn(&mut self, turn: Turn, subject: u8, news: &mut Vec<News>) -> Result<bool, Violation> {
        if !self.may_turn(turn, subject) {
            return Ok(false);
        }
        match turn {
            Turn::Land => {
                let stray = self.strays.remove(subject.into());
                self.reach(stray.site, stray.author, &stray.command, true, news)?;
            }
            Turn::StartWriter | Turn::StartReader | Turn::StartInitializer => {
                let site = self.start(turn)?;
                self.poll(site, news)?;
            }
            Turn::Crash => self.crash(subject),
            Turn::ExpireUploads => self.store.expire_uploads(),
            Turn::Touch | Turn::RivalTrim | Turn::Restore | Turn::Delete => self.meddle(turn)?,
            Turn::Tick | Turn::Freeze | Turn::Thaw | Turn::ClockBack | Turn::ClockAhead => {
                let site = &mut self.sites[usize::from(subject)];
                match turn {
                    Turn::Tick => {
                        let due = site.role.deadline().unwrap_or(site.now.mono);
                        site.pass(due.since(site.now.mono));
                    }
                    Turn::Thaw => {
                        site.frozen = false;
                        site.pass(HOUR);
                    }
                    Turn::Freeze => site.frozen = true,
                    Turn::ClockBack => site.now.wall.0 -= MINUTE_MS,
                    _ => site.now.wall.0 += MINUTE_MS,
                }
                if turn != Turn::Freeze {
                    self.poll(subject, news)?;
                }
            }
        }
        Ok(true)
    }

    fn start(&mut self, turn: Turn) -> Result<u8, Violation> {
        let site = u8::try_from(self.sites.len()).map_err(|error| Violation::new("a world is small", error))?;
        let role = match turn {
            Turn::StartReader => Role::Reader(ReaderProcess::new(self.keys.clone(), self.setup.reader(), site)),
            Turn::StartInitializer => Role::Initializer(InitializerProcess::begin(
                &self.keys,
                self.setup.writer().layout,
                self.setup.writer().budget,
                site,
            )?),
            _ => Role::Writer(WriterProcess::open(self.keys.clone(), self.setup.writer(), site, self.log.moves())?),
        };
        // Clocks have nothing in common: neither their origin nor, within seconds, the time of day.
        let now = Now {
            mono: MonoTime(1 + u64::from(site) * 1_000_000_007),
            wall: TimestampMs(1_700_000_000_000 - i64::from(site) * 700),
        };
        let (flights, writer_id) = (Vec::new(), role.writer_id());
        self.sites.push(Site {
            role,
            now,
            flights,
            frozen: false,
            excuses: Excuses::default(),
            writer_id,
            put_off: BTreeMap::new(),
            pace: Pace::default(),
            wrote_head: None,
        });
        Ok(site)
    }

    fn crash(&mut self, subject: u8) {
        let site = &mut self.sites[usize::from(subject)];
        site.role = Role::Gone;
        for Flight { command, kind, author, .. } in std::mem::take(&mut site.flights) {
            self.stray(Stray { command, kind, site: subject, author });
        }
    }

    /// Keeps a write that may land later; a read without a reader means nothing.
    fn stray(&mut self, stray: Stray) {
        if stray.kind.is_write() {
            if self.strays.len() == MAX_STRAYS {
                self.strays.remove(0);
            }
            self.strays.push(stray);
        }
    }

    fn with(
        &mut self,
        site: u8,
        news: &mut Vec<News>,
        act: impl FnOnce(&mut Role, &mut Context<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let found = &mut self.sites[usize::from(site)];
        let (now, excuses) = (found.now, found.excuses);
        act(&mut found.role, &mut Context { site, now, log: &mut self.log, news, excuses, setup: self.setup })
    }

    /// Lets a process run until it waits.
    fn poll(&mut self, site: u8, news: &mut Vec<News>) -> Result<(), Violation> {
        let index = usize::from(site);
        for burst in 0.. {
            ensure(burst < MAX_BURST, "a machine asks for finitely many commands", || site)?;
            let found = &mut self.sites[index];
            let Some(command) = found.role.poll_command(found.now) else { break };
            match command {
                Command::EncodeBlock(op) => {
                    let (encode, ticket) = op.split();
                    found.role.complete(found.now, ticket.done(Ok(encode.run(&mut BlockCodec::new()))));
                }
                Command::DecodeBlock(op) => {
                    let (decode, ticket) = op.split();
                    found.role.complete(found.now, ticket.done(Ok(decode.run(&mut BlockCodec::new()))));
                }
                Command::Cancel(id) => self.give_up(site, id),
                command => self.send(site, command, news)?,
            }
        }
        let found = &self.sites[index];
        let is_patient = found.role.deadline().is_none_or(|at| at > found.now.mono);
        ensure(is_patient, "a machine that waits does not want to be polled again at once", || site)?;
        self.with(site, news, Role::digest)
    }

    fn send(&mut self, site: u8, command: Command, news: &mut Vec<News>) -> Result<(), Violation> {
        let (kind, about) = subject(&command)?;
        news.push(News::Sent { site, kind, about: about.clone() });
        self.with(site, news, |role, context| role.sent(&command, context))?;
        let found = &mut self.sites[usize::from(site)];
        let put_off = found.put_off.remove(&(kind, about.clone()));
        // The last attempt is made when the budget ends, whatever the store asks for.
        let put_off = put_off.filter(|_| !self.setup.budgets_end());
        ensure(put_off.is_none_or(|until| until <= found.now.mono), "who is asked to wait waits", || &about)?;
        found.pace.send((kind, &about), found.role.hedges(), &found.flights, self.setup)?;
        if kind == Kind::Swap && found.role.is_open() {
            found.pace.swap(found.now.mono)?;
        }
        let author = found.author();
        let flights = &mut self.sites[usize::from(site)].flights;
        flights.push(Flight { command, kind, author, given_up: false });
        let waiting = flights.iter().filter(|flight| !flight.given_up).count();
        ensure(waiting <= MAX_IN_FLIGHT, "requests in flight are bounded", || waiting)
    }

    /// A process no longer waits for a request: a read is over, a write may still land and even be answered.
    fn give_up(&mut self, site: u8, id: OpId) {
        let found = &mut self.sites[usize::from(site)];
        let Some(position) = found.flights.iter().position(|flight| flight.command.id() == id) else { return };
        let flight = &mut found.flights[position];
        flight.given_up = true;
        found.excuses.doubt |= flight.kind == Kind::Swap;
        if self.setup.budgets_end() {
            found.excuses.hardship.add(found.now.mono);
        }
        if !flight.kind.is_write() {
            found.flights.remove(position);
        }
    }

    /// A request reaches the store.
    fn reach(
        &mut self,
        site: u8,
        author: Author,
        command: &Command,
        late: bool,
        news: &mut Vec<News>,
    ) -> Result<Reply, Violation> {
        let (kind, about) = subject(command)?;
        let reply = self.store.apply(command);
        let reply = reply.ok_or_else(|| Violation::new("the store knows every request", format!("{kind}")))?;
        let accepted = reply.fault().is_none();
        if kind == Kind::Complete {
            news.push(News::Rule(if accepted { "upload completed" } else { "completion refused" }));
        }
        if accepted && kind == Kind::Swap {
            let found = &mut self.sites[usize::from(site)];
            found.wrote_head = Some(found.now.mono);
        }
        news.push(News::Reached { site, kind, late, accepted });
        if accepted && kind == Kind::Swap && about == self.head_key {
            self.log.changed(&self.store, &self.keys, author)?;
        }
        Ok(reply)
    }
}

impl Site {
    fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.now.wall.0 += i64::try_from(time.as_millis()).unwrap_or(0);
    }
}

/// The kind of a request and the key that it is about.
pub(crate) fn subject(command: &Command) -> Result<(Kind, Key), Violation> {
    Ok(match command {
        Command::Get(op) => (Kind::Get, op.request().key.clone()),
        Command::Stat(op) => (Kind::Stat, op.request().key.clone()),
        Command::List(op) => (Kind::List, op.request().prefix.clone()),
        Command::Delete(op) => (Kind::Delete, op.request().key.clone()),
        Command::Create(op) => (Kind::Create, op.request().key.clone()),
        Command::Swap(op) => (Kind::Swap, op.request().key.clone()),
        Command::CreateUpload(op) => (Kind::Begin, op.request().key.clone()),
        Command::UploadPart(op) => (Kind::Part, op.request().key.clone()),
        Command::CompleteUpload(op) => (Kind::Complete, op.request().key.clone()),
        Command::AbortUpload(op) => (Kind::AbortUpload, op.request().key.clone()),
        other => return Err(Violation::new("the store knows every request", format!("{other:?}"))),
    })
}
