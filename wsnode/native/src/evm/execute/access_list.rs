//! Block access list of an execution: every account and slot that a block touched (EIP-7928).

use alloy_consensus::Header;
use alloy_eips::eip7928::{total_bal_items, BlockAccessIndex, BlockAccessList, ITEM_COST};
use alloy_evm::Database;
use alloy_primitives::{keccak256, Bytes};
use revm::database::State;
use revm::state::bal::Bal;

use crate::error::{require_equal, Rule, RuleViolation};
use crate::evm::chain_spec::{ChainSpec, Fork};

/// Block access list as an execution built it.
#[derive(Debug, Clone)]
pub struct AccessList {
    pub rlp: Bytes,
    /// Number of its accounts and of their slots, read or written.
    pub items: u64,
}

/// Begin the record of the accounts and slots that the block of `header` touches, from Amsterdam on.
pub fn begin<D: Database>(spec: &ChainSpec, header: &Header, state: &mut State<D>) {
    if spec.is_active_at(Fork::Amsterdam, header.number, header.timestamp) {
        state.bal_state.bal_builder = Some(Bal::new());
        state.bal_state.bal_index = BlockAccessIndex::PRE_EXECUTION;
    }
}

/// Set the index of the following accesses: 0 before the transactions, n + 1 for transaction n, and one more
/// after the last.
pub fn enter<D: Database>(state: &mut State<D>, index: usize) {
    state.set_bal_index(BlockAccessIndex::new(index as u64));
}

impl AccessList {
    /// Return the access list that another node sent as RLP.
    pub fn decode(rlp: &[u8]) -> Result<Self, RuleViolation> {
        let list: BlockAccessList = alloy_rlp::decode_exact(rlp)
            .map_err(|reason| RuleViolation::new(Rule::BlockAccessList, "a list", reason))?;
        Ok(Self { rlp: Bytes::copy_from_slice(rlp), items: total_bal_items(&list) })
    }

    pub fn take<D: Database>(state: &mut State<D>) -> Option<Self> {
        let list: BlockAccessList = state.bal_state.take_built_alloy_bal()?.into_iter().collect();
        Some(Self { rlp: alloy_rlp::encode(&list).into(), items: total_bal_items(&list) })
    }

    /// Check the list's size against the bound by the gas limit, and its hash against the header.
    pub fn verify(&self, header: &Header) -> Result<(), RuleViolation> {
        let bound = header.gas_limit / ITEM_COST as u64;
        if self.items > bound {
            return Err(RuleViolation::new(
                Rule::BlockAccessListSize,
                format!("at most {bound} items"),
                self.items,
            ));
        }
        let stated = header.block_access_list_hash.unwrap_or_default();
        require_equal(Rule::BlockAccessListHash, keccak256(&self.rlp), stated)
    }
}
