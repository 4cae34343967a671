//! Live calls: after each block, the calls that read changed values run again.

mod history;
mod keys;
mod late;
mod pinned;
mod proved;
mod recording;
mod run;
mod table;

#[cfg(test)]
mod reads_tests;

pub use keys::{ListId, Place};
pub use proved::{differing, lacking};
pub use run::{env_after, run, Bounds, Ran, Surroundings};
pub use table::{Due, LiveTable, Ready};
