//! Live calls: after each block, the calls that read changed values run again.

mod history;
mod keys;
mod late;
mod pinned;
mod proved;
mod queue;
mod ready;
mod recording;
mod run;
mod table;

#[cfg(test)]
mod reads_tests;

pub use keys::ListId;
pub use proved::{differing, lacking};
pub use ready::Ready;
pub use run::{env_after, run, LiveBounds, Ran, Surroundings};
pub use table::LiveTable;
