//! Overrides of a call: values for accounts and for members of the block.

use alloy_consensus::Header;
use alloy_evm::EvmEnv;
use alloy_primitives::map::B256Map;
use alloy_primitives::{keccak256, Address, Bytes, B256, U256};
use alloy_rpc_types_eth::state::{AccountOverride, StateOverride};
use alloy_rpc_types_eth::BlockOverrides;
use revm::bytecode::Bytecode;
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::database::CacheDB;
use revm::state::{Account, AccountStatus};
use revm::{Database, DatabaseCommit};

use super::database::Layer;
use super::evm::MovedPrecompiles;
use super::refusal::refuse;
use crate::error::Error;
use crate::evm::chain_spec::ChainSpec;
use crate::evm::environment::evm_environment;
use crate::state::{AccountPatch, HistoryView};

/// Overrides as the caller wrote them.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// Changes of accounts. Each address occurs once.
    accounts: Vec<(Address, AccountChanges)>,
    block: Option<BlockOverrides>,
}

/// Slots and their values. If a slot occurs twice, the last value counts.
pub type Slots = Vec<(U256, U256)>;

#[derive(Debug, Clone, Default)]
pub struct AccountChanges {
    pub nonce: Option<u64>,
    pub balance: Option<U256>,
    pub code: Option<Bytes>,
    /// Slots that replace all slots of the account.
    pub state: Option<Slots>,
    /// Slots that are set while all other slots stay.
    pub state_diff: Option<Slots>,
    pub move_precompile_to: Option<Address>,
}

impl From<AccountOverride> for AccountChanges {
    fn from(account: AccountOverride) -> Self {
        Self {
            nonce: account.nonce,
            balance: account.balance,
            code: account.code,
            state: account.state.map(slots),
            state_diff: account.state_diff.map(slots),
            move_precompile_to: account.move_precompile_to,
        }
    }
}

fn slots(values: B256Map<B256>) -> Slots {
    values.into_iter().map(|(slot, value)| (slot.into(), value.into())).collect()
}

impl Overrides {
    /// Return the overrides in two JSON texts: for accounts, and for the block.
    pub fn parse(state: Option<&[u8]>, block: Option<&[u8]>) -> Result<Self, Error> {
        let wrong = |reason: serde_json::Error| refuse("overrides", format!("invalid overrides: {reason}"));
        let state: Option<StateOverride> = state.map(serde_json::from_slice).transpose().map_err(wrong)?;
        let mut accounts: Vec<(Address, AccountChanges)> = state
            .unwrap_or_default()
            .into_iter()
            .map(|(address, account)| (address, account.into()))
            .collect();
        // The order of the parsed accounts is arbitrary. In a fixed order, the error for several wrong
        // accounts is always about the same one.
        accounts.sort_unstable_by_key(|(address, _)| *address);
        Ok(Self { accounts, block: block.map(serde_json::from_slice).transpose().map_err(wrong)? })
    }

    /// Return overrides of `accounts` and none of the block. Each address must occur once.
    pub fn of(accounts: Vec<(Address, AccountChanges)>) -> Self {
        Self { accounts, block: None }
    }

    pub fn into_accounts(self) -> Vec<(Address, AccountChanges)> {
        self.accounts
    }

    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.block.is_none()
    }

    /// Return the number of accounts and slots in the overrides.
    pub fn values(&self) -> usize {
        let slots = |slots: &Option<Slots>| slots.as_ref().map_or(0, Vec::len);
        self.accounts.iter().map(|(_, account)| 1 + slots(&account.state) + slots(&account.state_diff)).sum()
    }

    /// Return the length of all overridden code, in bytes.
    pub fn code_length(&self) -> usize {
        self.accounts.iter().filter_map(|(_, account)| Some(account.code.as_ref()?.len())).sum()
    }

    pub fn number(&self) -> Option<U256> {
        self.block.as_ref()?.number
    }

    /// Return the environment that a message sees, and its base fee in wei per gas, or None before London.
    pub fn surroundings(
        &self,
        spec: &ChainSpec,
        header: &Header,
        scope: OverrideScope,
    ) -> Result<(EvmEnv, Option<u64>), Error> {
        match &self.block {
            Some(block) => surroundings(spec, header, block, scope),
            None => Ok((evm_environment(spec, header), header.base_fee_per_gas)),
        }
    }

    /// Put the overridden accounts on top of a state, and return the moves of precompiled contracts.
    pub fn apply(self, layer: &mut Layer<'_>) -> Result<MovedPrecompiles, Error> {
        let Layer::Cached(cache) = layer else {
            return Err(Error::internal("overrides need a layer that holds changes"));
        };
        apply_accounts(self.accounts, cache)
    }
}

/// Extent to which overrides of a block's members change the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideScope {
    /// Overrides change what the EVM sees, and the rules by number and time, as in geth's calls and traces.
    Context,
    /// Overrides change the header, and so all values that follow from it, as in geth's estimates.
    Header,
}

fn surroundings(
    spec: &ChainSpec,
    header: &Header,
    block: &BlockOverrides,
    scope: OverrideScope,
) -> Result<(EvmEnv, Option<u64>), Error> {
    let mut seen = overridden(header, block)?;
    let base_fee = seen.base_fee_per_gas;
    let mut environment = match scope {
        OverrideScope::Header => evm_environment(spec, &seen),
        OverrideScope::Context => {
            // An overridden difficulty only changes the value of DIFFICULTY. An overridden random value also
            // makes the block one of proof of stake.
            seen.difficulty = if block.random.is_some() { U256::ZERO } else { header.difficulty };
            let mut environment = evm_environment(spec, &seen);
            environment.block_env.difficulty = block.difficulty.unwrap_or(header.difficulty);
            environment.block_env.blob_excess_gas_and_price =
                evm_environment(spec, header).block_env.blob_excess_gas_and_price;
            environment
        }
    };
    let members = &mut environment.block_env;
    members.number = block.number.unwrap_or(members.number);
    if let Some(wanted) = block.blob_base_fee {
        let excess_blob_gas = header.excess_blob_gas.unwrap_or_default();
        let blob_gasprice = narrow(wanted, "blob base fee", 128)?;
        members.blob_excess_gas_and_price = Some(BlobExcessGasAndPrice { excess_blob_gas, blob_gasprice });
    }
    Ok((environment, base_fee))
}

/// Return the header with the caller's members. A header without difficulty keeps zero.
fn overridden(header: &Header, block: &BlockOverrides) -> Result<Header, Error> {
    let base_fee = block.base_fee.map(|fee| narrow(fee, "base fee per gas", 64)).transpose()?;
    Ok(Header {
        number: block.number.map_or(header.number, |number| number.saturating_to()),
        difficulty: block.difficulty.filter(|_| !header.difficulty.is_zero()).unwrap_or(header.difficulty),
        timestamp: block.time.unwrap_or(header.timestamp),
        gas_limit: block.gas_limit.unwrap_or(header.gas_limit),
        beneficiary: block.coinbase.unwrap_or(header.beneficiary),
        mix_hash: block.random.unwrap_or(header.mix_hash),
        base_fee_per_gas: base_fee.or(header.base_fee_per_gas),
        ..header.clone()
    })
}

fn narrow<T: TryFrom<U256>>(wanted: U256, name: &str, bits: usize) -> Result<T, Error> {
    wanted.try_into().map_err(|_| refuse("overrides", format!("{name} {wanted} exceeds {bits} bits")))
}

/// Return the changes of accounts for a state that keeps them.
pub fn parse_patches(text: &[u8]) -> Result<Vec<AccountPatch>, Error> {
    let accounts = Overrides::parse(Some(text), None)?.into_accounts();
    accounts.into_iter().map(|(address, account)| patch(address, account)).collect()
}

fn patch(address: Address, account: AccountChanges) -> Result<AccountPatch, Error> {
    if account.move_precompile_to.is_some() {
        return Err(refuse("overrides", format!("account {address} cannot be moved for good")));
    }
    check_storage(address, &account)?;
    Ok(AccountPatch {
        address,
        nonce: account.nonce,
        balance: account.balance,
        code: account.code,
        replaces_storage: account.state.is_some(),
        slots: account.state.or(account.state_diff).unwrap_or_default(),
    })
}

fn check_storage(address: Address, account: &AccountChanges) -> Result<(), Error> {
    if account.state.is_some() && account.state_diff.is_some() {
        return Err(refuse("overrides", format!("account {address} has both 'state' and 'stateDiff'")));
    }
    Ok(())
}

fn apply_accounts(
    accounts: Vec<(Address, AccountChanges)>,
    cache: &mut CacheDB<HistoryView<'_>>,
) -> Result<MovedPrecompiles, Error> {
    for (address, account) in &accounts {
        check_storage(*address, account)?;
    }
    let moved_precompiles = accounts
        .iter()
        .filter_map(|(address, account)| Some((*address, account.move_precompile_to?)))
        .collect();
    for (address, account) in accounts {
        apply_account(address, account, cache)?;
    }
    Ok(moved_precompiles)
}

/// Put one account on top of the state as `alloy_evm::overrides` does, but write its slots directly into the
/// table that calls read. The way through alloy's two tables took half a millisecond for a thousand slots.
fn apply_account(
    address: Address,
    changes: AccountChanges,
    cache: &mut CacheDB<HistoryView<'_>>,
) -> Result<(), Error> {
    let wrong = |reason: String| refuse("overrides", reason);
    let mut known = cache.basic(address).map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
    if let Some(nonce) = changes.nonce {
        known.nonce = nonce;
    }
    if let Some(code) = changes.code {
        known.code_hash = keccak256(&code);
        known.code = Some(Bytecode::new_raw_checked(code).map_err(|error| wrong(error.to_string()))?);
    }
    if let Some(balance) = changes.balance {
        known.balance = balance;
    }
    let replaces_storage = changes.state.is_some();
    let slots = changes.state.or(changes.state_diff).unwrap_or_default();
    let is_empty = known.is_empty();
    let mut account = Account::from(known);
    account.status = AccountStatus::Touched;
    if replaces_storage || (is_empty && !slots.is_empty()) {
        // The EVM reads no slot of a created account from the state, so all other slots are zero.
        account.mark_created();
    }
    cache.commit([(address, account)].into_iter().collect());
    if let Some(account) = cache.cache.accounts.get_mut(&address) {
        account.storage.extend(slots);
    }
    Ok(())
}
