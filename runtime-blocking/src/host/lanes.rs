//! Commands that wait for a thread, with the limits on how many of each kind run at once.
use super::HostId;
use super::pool::Driven;
use crate::sync::Arc;
use bucketlog_core::boundary::{Command, OpId};
use std::collections::VecDeque;

/// A command and the machine that it is for.
pub(super) struct Job {
    pub(super) host: Arc<dyn Driven>,
    pub(super) command: Command,
}

/// What a command needs most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// A short request; no limit but the number of threads.
    Request,
    /// The network's bandwidth and memory.
    Upload,
    /// A core.
    Compute,
}

impl Lane {
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Create(_) | Command::UploadPart(_) => Self::Upload,
            Command::EncodeBlock(_) | Command::DecodeBlock(_) => Self::Compute,
            _ => Self::Request,
        }
    }
}

struct Waiting {
    jobs: VecDeque<Job>,
    running: usize,
    limit: usize,
}

impl Waiting {
    fn new(limit: usize) -> Self {
        Self { jobs: VecDeque::new(), running: 0, limit }
    }

    fn runnable(&self) -> usize {
        self.jobs.len().min(self.limit - self.running)
    }

    fn admit(&mut self) -> bool {
        let admitted = self.running < self.limit;
        self.running += usize::from(admitted);
        admitted
    }
}

/// All lanes; requests go first, for they are what commits wait for.
pub(super) struct Lanes {
    requests: Waiting,
    uploads: Waiting,
    computations: Waiting,
}

impl Lanes {
    pub(super) fn new(uploads: usize, computations: usize) -> Self {
        Self {
            requests: Waiting::new(usize::MAX),
            uploads: Waiting::new(uploads.max(1)),
            computations: Waiting::new(computations.max(1)),
        }
    }

    fn lane(&mut self, lane: Lane) -> &mut Waiting {
        match lane {
            Lane::Request => &mut self.requests,
            Lane::Upload => &mut self.uploads,
            Lane::Compute => &mut self.computations,
        }
    }

    fn all(&self) -> [&Waiting; 3] {
        [&self.requests, &self.uploads, &self.computations]
    }

    /// Jobs that could start now if there were threads enough.
    pub(super) fn runnable(&self) -> usize {
        self.all().map(Waiting::runnable).iter().sum()
    }

    pub(super) fn push(&mut self, job: Job) {
        self.lane(Lane::of(&job.command)).jobs.push_back(job);
    }

    /// Counts one more as running, if its lane has room.
    pub(super) fn admit(&mut self, lane: Lane) -> bool {
        self.lane(lane).admit()
    }

    /// One that was admitted or taken has ended. Whether another waits for its place.
    pub(super) fn leave(&mut self, lane: Lane) -> bool {
        let lane = self.lane(lane);
        lane.running -= 1;
        !lane.jobs.is_empty()
    }

    /// Starts the next job.
    pub(super) fn take(&mut self) -> Option<(Lane, Job)> {
        [Lane::Request, Lane::Upload, Lane::Compute].into_iter().find_map(|lane| self.take_at(lane, 0))
    }

    /// Starts the oldest runnable job of `host`, if all of its `in_flight` commands are still waiting here.
    pub(super) fn take_of(&mut self, host: HostId, in_flight: usize) -> Option<(Lane, Job)> {
        let waiting = self.all().map(|lane| lane.jobs.iter().filter(|job| job.host.id() == host).count());
        if waiting.iter().sum::<usize>() < in_flight {
            return None;
        }
        [Lane::Request, Lane::Upload, Lane::Compute].into_iter().find_map(|lane| {
            let position = self.lane(lane).jobs.iter().position(|job| job.host.id() == host)?;
            self.take_at(lane, position)
        })
    }

    /// Takes a job out that has not started.
    pub(super) fn remove(&mut self, host: HostId, op: OpId) -> Option<Job> {
        [Lane::Request, Lane::Upload, Lane::Compute].into_iter().find_map(|lane| {
            let jobs = &mut self.lane(lane).jobs;
            let position = jobs.iter().position(|job| job.host.id() == host && job.command.id() == op)?;
            jobs.remove(position)
        })
    }

    fn take_at(&mut self, lane: Lane, position: usize) -> Option<(Lane, Job)> {
        let waiting = self.lane(lane);
        if position >= waiting.jobs.len() || !waiting.admit() {
            return None;
        }
        waiting.jobs.remove(position).map(|job| (lane, job))
    }
}
