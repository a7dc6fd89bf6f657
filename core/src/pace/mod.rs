//! How fast a machine asks, learnt from what the store answers (decision 13). All of it is plain data and whole numbers:
//! time comes in as an argument.
mod head;
mod hedge;
mod window;

pub(crate) use head::HeadPace;
pub(crate) use hedge::Hedge;
pub use hedge::HedgePolicy;
pub(crate) use window::Window;
