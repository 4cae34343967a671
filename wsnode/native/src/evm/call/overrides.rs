//! What a caller wants to be different: accounts, members of the block.

use alloy_evm::overrides::{apply_block_overrides, apply_state_overrides};
use alloy_evm::EvmEnv;
use alloy_primitives::map::B256Map;
use alloy_primitives::Address;
use alloy_rpc_types_eth::state::{AccountOverride, StateOverride};
use alloy_rpc_types_eth::BlockOverrides;
use revm::database::CacheDB;

use super::database::Layer;
use super::evm::Moves;
use super::refusal::refuse;
use crate::error::Error;
use crate::state::{AccountPatch, HistoryView};

/// Overrides as the caller wrote them.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    state: Option<StateOverride>,
    block: Option<BlockOverrides>,
}

impl Overrides {
    /// The overrides in two JSON texts.
    pub fn parse(state: Option<&[u8]>, block: Option<&[u8]>) -> Result<Self, Error> {
        let wrong = |reason: serde_json::Error| refuse("overrides", format!("invalid overrides: {reason}"));
        Ok(Self {
            state: state.map(serde_json::from_slice).transpose().map_err(wrong)?,
            block: block.map(serde_json::from_slice).transpose().map_err(wrong)?,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.state.is_none() && self.block.is_none()
    }

    /// How many accounts and slots they name.
    pub fn values(&self) -> usize {
        let accounts = self.state.iter().flat_map(|accounts| accounts.values());
        let slots = |slots: &Option<B256Map<_>>| slots.as_ref().map_or(0, B256Map::len);
        accounts.map(|account| 1 + slots(&account.state) + slots(&account.state_diff)).sum()
    }

    /// Bytes of code among them.
    pub fn code_length(&self) -> usize {
        let accounts = self.state.iter().flat_map(|accounts| accounts.values());
        accounts.filter_map(|account| Some(account.code.as_ref()?.len())).sum()
    }

    /// Put them on top of a state and into a block's members, and return how precompiled contracts move.
    pub fn apply(self, layer: &mut Layer<'_>, environment: &mut EvmEnv) -> Result<Moves, Error> {
        let Layer::Cached(cache) = layer else {
            return Err(Error::internal("overrides need a layer that holds changes"));
        };
        if let Some(block) = self.block {
            apply_block_overrides(block, cache.as_mut(), &mut environment.block_env);
        }
        self.state.map_or(Ok(Moves::new()), |state| apply_state(state, cache))
    }
}

/// The accounts that overrides change, for a state that is to keep them.
pub fn parse_patches(text: &[u8]) -> Result<Vec<AccountPatch>, Error> {
    let accounts = Overrides::parse(Some(text), None)?.state.unwrap_or_default();
    accounts.into_iter().map(|(address, account)| patch(address, account)).collect()
}

fn patch(address: Address, account: AccountOverride) -> Result<AccountPatch, Error> {
    if account.move_precompile_to.is_some() {
        return Err(refuse("overrides", format!("account {address} cannot be moved for good")));
    }
    if account.state.is_some() && account.state_diff.is_some() {
        return Err(refuse("overrides", format!("account {address} has both 'state' and 'stateDiff'")));
    }
    let replaces_storage = account.state.is_some();
    let slots = account.state.or(account.state_diff).unwrap_or_default();
    Ok(AccountPatch {
        address,
        nonce: account.nonce,
        balance: account.balance,
        code: account.code,
        slots: slots.into_iter().map(|(slot, value)| (slot.into(), value.into())).collect(),
        replaces_storage,
    })
}

fn apply_state(state: StateOverride, cache: &mut CacheDB<HistoryView<'_>>) -> Result<Moves, Error> {
    let both = state.iter().find(|(_, account)| account.state.is_some() && account.state_diff.is_some());
    if let Some((address, _)) = both {
        return Err(refuse("overrides", format!("account {address} has both 'state' and 'stateDiff'")));
    }
    let moves =
        state.iter().filter_map(|(address, account)| Some((*address, account.move_precompile_to?))).collect();
    apply_state_overrides(state, cache).map_err(|reason| refuse("overrides", reason.to_string()))?;
    Ok(moves)
}
