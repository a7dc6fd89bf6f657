//! One command, one attempt.
use crate::clock::Clock;
use crate::store::Store;
use crate::sync::Arc;
use bucketlog_core::boundary::{Command, Completion, Fault, Op, RefusalKind, Request};
use bucketlog_core::format::segment::BlockCodec;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// What commands are executed with.
#[derive(Debug)]
pub(crate) struct Executor {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
}

impl Executor {
    /// Makes exactly one attempt and answers it. `codec` is filled on first use and emptied by a panic.
    /// `None` for a [`Command::Cancel`], which has no answer.
    pub(crate) fn execute(&self, command: Command, codec: &mut Option<BlockCodec>) -> Option<Completion> {
        let store = &*self.store;
        Some(match command {
            Command::Get(op) => self.attempt(op, |request, until| store.get(request, until)),
            Command::Stat(op) => self.attempt(op, |request, until| store.stat(request, until)),
            Command::List(op) => self.attempt(op, |request, until| store.list(request, until)),
            Command::Delete(op) => self.attempt(op, |request, until| store.delete(request, until)),
            Command::DeleteMany(op) => self.attempt(op, |request, until| store.delete_many(request, until)),
            Command::Create(op) => self.attempt(op, |request, until| store.create(request, until)),
            Command::Swap(op) => self.attempt(op, |request, until| store.swap(request, until)),
            Command::CreateUpload(op) => self.attempt(op, |request, until| store.create_upload(request, until)),
            Command::UploadPart(op) => self.attempt(op, |request, until| store.upload_part(request, until)),
            Command::CompleteUpload(op) => self.attempt(op, |request, until| store.complete_upload(request, until)),
            Command::AbortUpload(op) => self.attempt(op, |request, until| store.abort_upload(request, until)),
            Command::ListUploads(op) => self.attempt(op, |request, until| store.list_uploads(request, until)),
            Command::EncodeBlock(op) => {
                self.attempt(op, |request, _| Ok(with_codec(codec, |codec| request.run(codec))))
            }
            Command::DecodeBlock(op) => {
                self.attempt(op, |request, _| Ok(with_codec(codec, |codec| request.run(codec))))
            }
            other => {
                return other.fail(Fault::refused(RefusalKind::Unsupported, "this driver doesn't know the command"));
            }
        })
    }

    fn attempt<R: Request>(&self, op: Op<R>, run: impl FnOnce(&R, Instant) -> Result<R::Reply, Fault>) -> Completion {
        let deadline = op.deadline();
        let (request, ticket) = op.split();
        if deadline <= self.clock.mono() {
            return ticket.done(Err(Fault::not_sent("the deadline passed before the attempt could start")));
        }
        let until = self.clock.instant(deadline);
        let result = catch_unwind(AssertUnwindSafe(|| run(&request, until)));
        ticket.done(result.unwrap_or_else(|panic| Err(panicked(&*panic))))
    }
}

/// Lends the codec; one that saw a panic is not used again.
fn with_codec<T>(slot: &mut Option<BlockCodec>, run: impl FnOnce(&mut BlockCodec) -> T) -> T {
    let mut codec = slot.take().unwrap_or_default();
    let result = run(&mut codec);
    *slot = Some(codec);
    result
}

fn panicked(payload: &(dyn Any + Send)) -> Fault {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    Fault::indeterminate(format!("the attempt panicked: {}", text.unwrap_or("no message")))
}
