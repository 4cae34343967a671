//! Irregular state change of the DAO fork, before the block's transactions.

use alloy_consensus::Header;
use alloy_evm::eth::dao_fork::{DAO_HARDFORK_ACCOUNTS, DAO_HARDFORK_BENEFICIARY};
use alloy_evm::Database;
use alloy_primitives::map::AddressMap;
use alloy_primitives::U256;
use revm::database::State;
use revm::state::{Account, TransactionId};
use revm::{Database as _, DatabaseCommit};

use crate::error::Error;
use crate::evm::chain_spec::{ChainSpec, Fork};

/// Move the balances of the DAO's accounts in the block of the fork, if the chain supports the fork.
pub fn move_balances<D: Database>(
    spec: &ChainSpec,
    header: &Header,
    state: &mut State<D>,
) -> Result<(), Error> {
    if spec.dao_fork() != Some((header.number, true)) {
        return Ok(());
    }
    let keeps_empty = !spec.is_active(Fork::SpuriousDragon, header.number);
    let mut moved = AddressMap::default();
    let mut total = U256::ZERO;
    for address in DAO_HARDFORK_ACCOUNTS.into_iter().chain([DAO_HARDFORK_BENEFICIARY]) {
        let found = state.basic(address).map_err(Error::internal)?;
        let mut account = found.map_or_else(|| Account::new_not_existing(TransactionId::ZERO), Account::from);
        total = total.saturating_add(account.info.balance);
        account.info.balance = if address == DAO_HARDFORK_BENEFICIARY { total } else { U256::ZERO };
        account.mark_touch();
        if keeps_empty && account.is_empty() {
            // Before Spurious Dragon, touched empty accounts stay in the state. The mark keeps `commit` from
            // removing this one.
            account.mark_created();
        }
        moved.insert(address, account);
    }
    state.commit(moved);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::Header;
    use revm::database::{CacheDB, EmptyDB};
    use revm::state::AccountInfo;

    fn fork(state: &mut State<CacheDB<EmptyDB>>, spurious_dragon: u64) {
        let config = format!(
            r#"{{"chainId": 1, "homesteadBlock": 0, "daoForkBlock": 1, "daoForkSupport": true,
                "eip150Block": 1, "eip155Block": 1, "eip158Block": {spurious_dragon}}}"#
        );
        let genesis = format!(r#"{{"config": {config}, "alloc": {{}}}}"#);
        let spec = ChainSpec::from_json(genesis.as_bytes()).unwrap();
        move_balances(&spec, &Header { number: 1, ..Header::default() }, state).unwrap();
    }

    #[test]
    fn balances_of_any_size_are_moved() {
        let mut before = CacheDB::new(EmptyDB::default());
        before.insert_account_info(DAO_HARDFORK_ACCOUNTS[0], AccountInfo::from_balance(U256::MAX >> 1));
        before.insert_account_info(DAO_HARDFORK_ACCOUNTS[1], AccountInfo::from_balance(U256::from(5)));
        let mut state = State::builder().with_database(before).with_bundle_update().build();
        fork(&mut state, 2);
        let beneficiary = state.basic(DAO_HARDFORK_BENEFICIARY).unwrap().unwrap();
        assert_eq!(beneficiary.balance, (U256::MAX >> 1) + U256::from(5));
        let drained = state.basic(DAO_HARDFORK_ACCOUNTS[0]).unwrap();
        assert_eq!(drained.map(|account| account.balance), Some(U256::ZERO));
    }

    #[test]
    fn accounts_without_a_balance_come_to_be_before_spurious_dragon_only() {
        for (spurious_dragon, exists) in [(2, true), (1, false)] {
            let database = CacheDB::new(EmptyDB::default());
            let mut state = State::builder().with_database(database).with_bundle_update().build();
            fork(&mut state, spurious_dragon);
            for address in [DAO_HARDFORK_ACCOUNTS[7], DAO_HARDFORK_BENEFICIARY] {
                assert_eq!(state.basic(address).unwrap().is_some(), exists);
            }
        }
    }
}
