//! The `bucketlog` command from outside: every test runs the built binary.
mod append;
mod golden;
mod inspect;
mod log;
mod manual;
mod read;
mod run;
