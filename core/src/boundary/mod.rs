//! The boundary: what the core asks for, and what it is told. Everything that the author of a driver must know.
//!
//! A machine never performs IO. [`Machine::poll_command`] hands out [`Command`]s; a driver executes each with **exactly
//! one attempt** (no retries, no redirects, no transparent decompression: a hidden retry turns a won swap into a false
//! conflict) and spends the command's [`Ticket`] on a [`Completion`]. The core owns every retry, timeout and back-off.
//!
//! ```
//! use bucketlog_core::boundary::{Command, Completion, Fault, Machine, Now};
//!
//! /// One round of a driver without concurrency; `execute` makes one attempt.
//! fn round<M: Machine>(machine: &mut M, now: Now, execute: impl Fn(Command) -> Option<Completion>) {
//!     while let Some(command) = machine.poll_command(now) {
//!         if let Some(completion) = execute(command) {
//!             machine.complete(now, completion);
//!         }
//!     }
//!     while let Some(_event) = machine.poll_event() {}
//! }
//! ```
//!
//! An answer of the wrong kind does not compile:
//!
//! ```compile_fail
//! use bucketlog_core::boundary::{Delete, GetReply, Ticket};
//! fn answer(ticket: Ticket<Delete>, reply: GetReply) { let _ = ticket.done(Ok(reply)); }
//! ```
//! ```
//! use bucketlog_core::boundary::{Get, GetReply, Ticket};
//! fn answer(ticket: Ticket<Get>, reply: GetReply) { let _ = ticket.done(Ok(reply)); }
//! ```
//!
//! Nor do two answers to one operation:
//!
//! ```compile_fail
//! use bucketlog_core::boundary::{Fault, Get, Ticket};
//! fn twice(ticket: Ticket<Get>) { let _ = ticket.done(Err(Fault::not_sent("a"))); let _ = ticket.done(Err(Fault::not_sent("b"))); }
//! ```
//! ```
//! use bucketlog_core::boundary::{Fault, Get, Ticket};
//! fn once(ticket: Ticket<Get>) { let _ = ticket.done(Err(Fault::not_sent("a"))); }
//! ```
mod command;
mod fault;
mod machine;
mod object;
mod op;
mod outstanding;
mod time;
mod upload;

#[doc(hidden)]
pub use command::Outcome;
pub use command::{
    Command, Create, CreateReply, DecodeBlock, Delete, DeleteMany, DeleteManyReply, EncodeBlock, Get, GetReply, List,
    ListReply, Stat, StatReply, Swap, SwapReply,
};
pub use fault::{Cause, Fault, Refusal, RefusalKind};
pub use machine::Machine;
pub use object::{ByteRange, Key, ObjectMeta, PartTag, SwapCondition, UploadId, Version};
pub use op::{Completion, Op, OpId, Request, Ticket};
pub(crate) use outstanding::{Answer, Outstanding};
pub use time::{MonoTime, Now};
pub use upload::{
    AbortUpload, CompleteUpload, CreateUpload, CreateUploadReply, ListUploads, ListUploadsReply, UploadMeta,
    UploadPart, UploadPartReply,
};
