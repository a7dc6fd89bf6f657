//! The end of a run: faults stop, everything comes to rest, and what must be true then is checked.
use super::World;
use crate::action::{Call, How, Turn};
use crate::check::{Violation, ensure};
use crate::news::News;
use crate::process::Role;
use bucketlog_core::ids::TimestampMs;

/// Rounds of answers and timers until the world rests.
const MAX_ROUNDS: usize = 2_000;
/// Requests that a world without faults may need to come to rest, beside [`REQUESTS_PER_RECORD`].
const MAX_REQUESTS: usize = 200;
/// A record needs a segment, pages and a swap at worst.
const REQUESTS_PER_RECORD: usize = 8;
/// Year 2096: no record of a run is later, so that the last one is not out of order.
const FAR_FUTURE: TimestampMs = TimestampMs(4_000_000_000_000);

impl World {
    /// Ends all faults, lets everything come to rest, and checks that nothing is left undone; twice, because a stray
    /// request may land after the rest. At last a new writer must be able to own the log.
    ///
    /// # Errors
    /// A broken rule.
    pub fn quiesce(&mut self, news: &mut Vec<News>) -> Result<(), Violation> {
        self.rest(news)?;
        while !self.strays.is_empty() {
            self.turn(Turn::Land, 0, news)?;
        }
        self.rest(news)?;
        let heir = self.start(Turn::StartWriter)?;
        self.poll(heir, news)?;
        self.rest(news)?;
        self.sites[usize::from(heir)].now.wall = FAR_FUTURE;
        let before = self.log.next_lsn();
        self.with(heir, news, |role, context| role.call(Call::Append, context))?;
        self.rest(news)?;
        ensure(self.log.next_lsn() > before, "somebody can own the log", || format!("{:?}", self.log.head()))?;
        self.check_all()
    }

    fn rest(&mut self, news: &mut Vec<News>) -> Result<(), Violation> {
        let mut requests = 0;
        for site in (0..).take(self.sites.len()) {
            if self.sites[usize::from(site)].frozen {
                self.turn(Turn::Thaw, site, news)?;
            }
        }
        for round in 0.. {
            ensure(round < MAX_ROUNDS, "without faults the world comes to rest", || round)?;
            let mut is_idle = true;
            for site in (0..).take(self.sites.len()) {
                is_idle &= self.settle(site, &mut requests, news)?;
            }
            if is_idle {
                break;
            }
        }
        let bound = MAX_REQUESTS + REQUESTS_PER_RECORD * self.sites.len() * usize::from(self.setup.appends);
        ensure(requests <= bound, "requests per commit are bounded", || requests)?;
        self.sites.iter().try_for_each(|site| site.role.check_rest(site.excuses))
    }

    /// Answers everything that a process waits for, and lets its time pass; whether there was nothing to do.
    fn settle(&mut self, site: u8, requests: &mut usize, news: &mut Vec<News>) -> Result<bool, Violation> {
        let index = usize::from(site);
        if self.is_writer(site) {
            self.with(site, news, |role, context| {
                if let Role::Writer(process) = role {
                    process.flush(context);
                }
                Ok(())
            })?;
            self.poll(site, news)?;
        }
        let mut is_idle = true;
        while !self.sites[index].flights.is_empty() {
            is_idle = false;
            *requests += 1;
            self.answer(site, 0, How::Done, news)?;
        }
        is_idle &= !self.turn(Turn::Tick, site, news)?;
        Ok(is_idle)
    }
}
