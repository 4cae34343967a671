//! Access list for a message. Runs are repeated with the list of the run before, until a run touches nothing
//! beyond it.

mod touched;

use std::collections::BTreeSet;
use std::convert::Infallible;

use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{keccak256, Address, TxKind, U256};
use revm::primitives::hardfork::SpecId;

use crate::error::Error;
use crate::evm::call::unsigned::UnsignedTerms;
use crate::evm::call::{CallEnv, CallSite, Message, Outcome, WorkBudget};
use touched::AccessedAccounts;

/// Access list and the outcome of the message's run with it.
#[derive(Debug)]
pub struct Listed {
    pub list: AccessList,
    pub outcome: Outcome,
}

/// Return the access list for `message`, and the outcome of its last run. `nonce` is by default the sender's
/// next nonce.
///
/// The accounts of `excluded` are left out unless their slots are used. After an interruption by the work
/// budget, the list is that of the interrupted run.
pub fn create_access_list(
    site: CallSite<'_>,
    message: &Message,
    nonce: Option<u64>,
    gas_cap: u64,
    work_budget: &WorkBudget,
) -> Result<Listed, Error> {
    let (chain_id, has_base_fee) = (site.spec.chain_id(), site.header.base_fee_per_gas.is_some());
    let gas = message.gas.map_or(gas_cap, |gas| gas.min(gas_cap));
    let mut env = CallEnv::new(site, work_budget)?.for_many_runs();
    let nonce = nonce.map_or_else(|| env.nonce(message.sender), Ok)?;
    let terms = UnsignedTerms { chain_id, nonce, gas, has_base_fee };
    if !env.environment.cfg_env.spec.is_enabled_in(SpecId::BERLIN) {
        return Err(named(unsupported(message), message, terms));
    }
    let excluded = excluded(&env, message, nonce, chain_id);
    let mut message = message.clone();
    let mut known = AccessedAccounts::new(&message.access_list.take().unwrap_or_default(), &excluded);
    loop {
        let list = known.list();
        message.access_list = Some(list.clone());
        let mut touched = known.clone();
        let outcome =
            env.run_inspected(&message, gas, &mut touched).map_err(|error| named(error, &message, terms))?;
        if matches!(outcome, Outcome::Interrupted { .. }) || touched.agrees(&known) {
            return Ok(Listed { list, outcome });
        }
        known = touched;
    }
}

fn unsupported(message: &Message) -> Error {
    let name = "access list";
    let text = format!("transaction type not supported: {name} tx (sender {})", message.sender);
    Error::InvalidTransaction { kind: "access_list", message: text }
}

/// Return the accounts that need no entry: the sender, the receiver, precompiled contracts, and signers of
/// authorizations. An authorization counts if its chain id fits and its nonce is below 2^64 - 1.
fn excluded(env: &CallEnv<'_>, message: &Message, nonce: u64, chain_id: u64) -> BTreeSet<Address> {
    let receiver = match message.to {
        TxKind::Call(to) => to,
        TxKind::Create => message.sender.create(nonce),
    };
    let mut excluded: BTreeSet<_> = env.precompiles.addresses().copied().collect();
    excluded.extend([message.sender, receiver]);
    let counts = |signed: &&SignedAuthorization| {
        (signed.chain_id.is_zero() || signed.chain_id == U256::from(chain_id)) && signed.nonce < u64::MAX
    };
    let authorizations = message.authorizations.iter().flatten().filter(counts);
    excluded.extend(authorizations.filter_map(|signed| signed.recover_authority().ok()));
    excluded
}

/// Return the refusal of `message` in the words of geth's access lists, which name the hash of the unsigned
/// transaction; other errors are returned unchanged.
fn named(error: Error, message: &Message, terms: UnsignedTerms) -> Error {
    match error {
        Error::InvalidTransaction { kind, message: words } if kind != "overrides" => {
            let Ok(envelope) = terms.envelope(message, |fee| Ok::<_, Infallible>(fee.saturating_to()));
            let text = format!("failed to apply transaction: {} err: {words}", keccak256(envelope));
            Error::InvalidTransaction { kind, message: text }
        }
        other => other,
    }
}
