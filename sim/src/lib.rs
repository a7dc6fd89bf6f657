//! Durability and fencing, tried on the shipped code.
//!
//! A [`World`](world::World) holds a simulated bucket and processes that run the machines of `bucketlog-core`, the same
//! that the drivers run. A run is a pure function of a [`Setup`](setup::Setup) and a list of
//! [`Action`](action::Action)s; the list comes from a seed, from bytes, from an exhaustive search or from a file. After
//! every step the [checkers](check) compare what the machines said with what the bucket holds.
//!
//! For programs that use a log there are two ways to meet the same faults: a [`Trial`](trial::Trial) runs the program
//! as a state machine, deterministically, with crashes at every step; `service` is a store for the blocking driver, on
//! which unmodified code runs. The guide is `docs/failover.md`, "Test your failover in 50 lines".
pub mod action;
pub mod check;
pub mod choice;
pub mod crash;
pub mod exhaust;
#[cfg(feature = "mutants")]
pub mod mutants;
pub mod news;
mod process;
pub mod run;
#[cfg(feature = "blocking")]
pub mod service;
pub mod setup;
mod shrink;
pub mod stats;
pub mod store;
pub mod trial;
pub mod value;
pub mod world;

pub use process::Excuses;

/// The guide compiles, and what it promises is true.
#[cfg(all(doctest, feature = "blocking"))]
#[doc = include_str!("../../docs/failover.md")]
struct Guide;
