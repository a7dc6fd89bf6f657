//! The `bucketlog` command from outside: every test runs the built binary.
mod append;
mod crash;
mod demo;
mod doctor;
mod golden;
mod hostile;
mod inspect;
mod large;
mod log;
mod manual;
mod read;
mod run;
mod schema;
mod scrub;
mod terminal;
mod together;
