//! Calls whose outcomes are watched: after each block those run again that read what it has changed.

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
