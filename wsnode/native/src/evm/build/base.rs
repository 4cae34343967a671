//! Block on whose state messages run.

use alloy_consensus::Header;
use alloy_eips::BlockNumHash;
use alloy_primitives::B256;

use super::BuiltBlock;
use crate::chain::rows::HeaderRow;
use crate::error::Error;
use crate::state::StateAfter;

/// Block whose header and state a message sees.
#[derive(Debug, Clone, Copy)]
pub enum Base<'a> {
    /// Header row of a committed block.
    Row(&'a [u8]),
    Built(&'a BuiltBlock),
}

impl<'a> Base<'a> {
    /// Return the block's header, its hash, and the state after the block.
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
