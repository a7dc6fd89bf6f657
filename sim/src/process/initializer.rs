//! A program that creates the partition at a chosen LSN, and holds the shipped machine to its word.
use super::{Context, Excuses, has_failed_enough};
use crate::check::{Violation, ensure};
use crate::news::News;
use bucketlog_core::boundary::{Command, Machine, MonoTime};
use bucketlog_core::format::catalog::{CatalogLayout, Head};
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::ids::Lsn;
use bucketlog_core::initialize::{Initialize, InitializeError, Initialized};
use std::time::Duration;

/// LSNs between the beginnings that two initialisers choose, so that each head names its maker.
const STRIDE: u64 = 3;

/// An initialiser and what its user knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InitializerProcess {
    pub(crate) machine: Initialize,
    /// The head that it would make.
    wanted: Head,
    is_done: bool,
    /// When it sent its first request.
    since: Option<MonoTime>,
}

impl InitializerProcess {
    pub(crate) fn begin(keys: &LogKeys, layout: CatalogLayout, budget: Duration, site: u8) -> Result<Self, Violation> {
        let next_lsn = Lsn(STRIDE * u64::from(site));
        let machine = Initialize::new(keys.clone(), layout, next_lsn, budget, [site + 1; 32]);
        Ok(Self {
            machine: machine.map_err(|error| Violation::new("an LSN below the last is a place to begin", error))?,
            wanted: Head::initial(*keys.identity(), layout, next_lsn),
            is_done: false,
            since: None,
        })
    }

    pub(super) fn sent(&mut self, command: &Command, context: &mut Context<'_>) -> Result<(), Violation> {
        let next_lsn = self.wanted.next_lsn;
        self.since.get_or_insert(context.now.mono);
        context.news.push(News::Initializing { site: context.site, next_lsn });
        ensure(
            matches!(command, Command::Get(_) | Command::Swap(_)),
            "an initialiser reads and creates the head, nothing else",
            || format!("{command:?}"),
        )
    }

    pub(super) fn digest(&mut self, context: &mut Context<'_>) -> Result<(), Violation> {
        let Some(result) = self.machine.poll_event() else { return Ok(()) };
        ensure(!self.is_done, "a call is answered once", || self.wanted.next_lsn)?;
        self.is_done = true;
        match result {
            Ok(Initialized { created, head }) => self.initialized(created, &head, context),
            Err(error) => self.failed(&error, context),
        }
    }

    fn initialized(&self, created: bool, head: &Head, context: &mut Context<'_>) -> Result<(), Violation> {
        let next_lsn = self.wanted.next_lsn;
        context.news.push(News::Initialized { site: context.site, created, next_lsn });
        context.news.push(News::Rule(if created { "initialised" } else { "found initialised" }));
        ensure(created == (*head == self.wanted), "who says that it created the head made it", || next_lsn)?;
        // Who stood still hears the answer later.
        let now = context.log.head().filter(|now| now.generation == head.generation);
        let is_true = context.excuses.seen == Some(head.generation) && now.is_none_or(|now| now == head);
        let is_true = is_true || context.log.was_tampered_with();
        ensure(is_true, "an initialiser tells of the head that is there", || next_lsn)
    }

    fn failed(&self, error: &InitializeError, context: &mut Context<'_>) -> Result<(), Violation> {
        let next_lsn = self.wanted.next_lsn;
        context.news.push(News::InitializeFailed { site: context.site, error: error.to_string() });
        let is_true = match error {
            InitializeError::Store { attempts, maybe, .. } => {
                if !maybe {
                    context.log.never_begins(next_lsn)?;
                }
                context.news.push(News::Rule("an initialiser gave up"));
                has_failed_enough(*attempts, self.since, context)
            }
            InitializeError::HeadGone { .. } => context.log.was_deleted(),
            InitializeError::Corrupt { .. } => context.excuses.damage,
            _ => false,
        };
        ensure(is_true, "an initialiser fails for a reason", || error)
    }

    pub(super) fn check_rest(&self, _excuses: Excuses) -> Result<(), Violation> {
        ensure(self.is_done, "every call is answered", || self.wanted.next_lsn)
    }
}
