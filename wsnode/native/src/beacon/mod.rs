//! Light client of the beacon chain: verifies headers signed by sync committees, from a trusted block root on.
//!
//! The functions take bytes and JSON and return decisions. None reads a clock, a socket or a file.

mod codec;
mod committee;
mod forks;
mod merkle;
mod objects;
mod refusal;
mod rules;
mod store;

pub use codec::split_answers;
pub use forks::{BeaconConfig, ScheduledFork};
pub use objects::UpdateKind;
pub use refusal::Refusal;
pub use rules::{bootstrap, take};
pub use store::{Equivocation, LightClientStore, ProvedHeader, StoreChange, StoreRowError, TooOld};
