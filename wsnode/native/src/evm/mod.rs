//! Rules of chains, decoding, verification, execution and building of blocks, and calls and traces of
//! messages.

pub mod access_list;
pub mod block;
pub mod build;
pub mod call;
pub mod chain_spec;
pub mod dump;
pub mod environment;
pub mod execute;
pub mod live;
pub mod rules;
pub mod sign;
pub mod simulate;
pub mod trace;
pub mod witness;
