//! The block on whose state messages run.

use alloy_consensus::Header;
use alloy_eips::BlockNumHash;
use alloy_primitives::B256;

use super::BuiltBlock;
use crate::chain::rows::HeaderRow;
use crate::error::Error;
use crate::state::StateAfter;

/// A block in whose surroundings and on whose state something runs.
#[derive(Debug, Clone, Copy)]
pub enum Base<'a> {
    /// A committed one, by its header row.
    Row(&'a [u8]),
    Built(&'a BuiltBlock),
}

impl<'a> Base<'a> {
    /// Its header, its hash, and the state after it.
    pub fn read(self) -> Result<(Header, B256, StateAfter<'a>), Error> {
        match self {
            Self::Row(row) => {
                let row = HeaderRow::new(row)?;
                let (header, hash) = (row.header()?, *row.hash());
                let state = BlockNumHash::new(header.number, hash).into();
                Ok((header, hash, state))
            }
            Self::Built(built) => Ok((built.block.header.clone(), built.block.hash, built.state())),
        }
    }
}
