//! The tokio driver through its public handles.
mod cancellation;
mod conformance;
mod costs;
mod handles;
mod s3;
mod shutdown;
mod world;
