//! Run of a live call on the state after a block.

use alloy_consensus::Header;
use alloy_primitives::{Address, TxKind, B256};
use revm::context::{BlockEnv, CfgEnv};

use super::recording;
use crate::error::Error;
use crate::evm::call::{
    gas_cap, revert_message, with_supplied_gas, CallEnv, Layer, Message, Outcome, Read, Reads, WorkBudget,
};
use crate::evm::chain_spec::ChainSpec;
use crate::json::Writer;

const REVERTED: i64 = 3;
const FAILED: i64 = -32000;

#[derive(Debug, Clone, Copy)]
pub struct LiveBounds {
    /// Gas of a call that names none.
    pub gas: u64,
    /// Highest gas of a call, as a multiple of its block's gas limit.
    pub gas_blocks: u64,
    /// Number of values that a call may read. A call that reads more depends on everything.
    pub reads: usize,
    /// Bytes of all calls in tables that share the bound, with their values and outcomes.
    pub bytes: usize,
}

/// Result of a run.
#[derive(Debug)]
pub struct Ran {
    /// Member `result` or `error` of an entry, as JSON.
    pub text: Vec<u8>,
    /// Values on which the outcome depends; None if it depends on everything.
    pub reads: Option<Vec<Read>>,
    /// Gas used.
    pub cost: u64,
}

impl Ran {
    /// Return a run that failed without an outcome and is to be tried again.
    pub fn failed(code: i64, message: &str) -> Self {
        Self { text: error(code, message, None), reads: None, cost: u64::MAX }
    }

    /// Return the part of the text that distinguishes outcomes. For a run without an outcome it ends before
    /// the message, which may name the block.
    pub fn identity(&self) -> &[u8] {
        let is_message = |start: &usize| self.text[*start..].starts_with(b",\"message\"");
        let end = (0..self.text.len()).find(is_message).filter(|_| self.cost == u64::MAX);
        &self.text[..end.unwrap_or(self.text.len())]
    }
}

/// Members of a block on which live calls depend: rules for every call, and other members for calls that read
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    hash: B256,
    settings: CfgEnv,
    block: BlockEnv,
    has_base_fee: bool,
    gas: u64,
}

impl Surroundings {
    pub fn of(env: &CallEnv<'_>, header: &Header, hash: B256, bounds: LiveBounds) -> Self {
        Self {
            hash,
            settings: env.environment.cfg_env.clone(),
            block: env.environment.block_env.clone(),
            has_base_fee: header.base_fee_per_gas.is_some(),
            gas: bounds.gas.min(gas_cap(header.gas_limit, bounds.gas_blocks)),
        }
    }

    /// Return whether another block has the same rules, and its gas limit bounds calls in the same way.
    pub fn has_rules_of(&self, other: &Self) -> bool {
        (&self.settings, self.has_base_fee, self.gas) == (&other.settings, other.has_base_fee, other.gas)
    }

    /// Return the coinbases of this block and another one if they differ, else nothing. Access to a coinbase
    /// has another price (EIP-3651).
    pub fn coinbases(&self, other: &Self) -> Vec<Address> {
        let (now, before) = (self.block.beneficiary, other.block.beneficiary);
        if now == before {
            Vec::new()
        } else {
            vec![now, before]
        }
    }

    /// Return the members of the block that differ from another block's.
    pub fn changed_from(&self, other: &Self) -> Vec<Read> {
        let (block, before) = (&self.block, &other.block);
        let members = [
            (self.hash != other.hash, Read::Block),
            (block.gas_limit != before.gas_limit, Read::GasLimit),
            (block.beneficiary != before.beneficiary, Read::Coinbase),
            (block.basefee != before.basefee, Read::BaseFee),
        ];
        members.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, read)| read).collect()
    }
}

/// Return the environment of messages on the state after a block.
pub fn env_after<'a>(
    spec: &ChainSpec,
    layer: Layer<'a>,
    header: &Header,
    work_budget: &'a WorkBudget,
) -> CallEnv<'a> {
    CallEnv::without_overrides(spec, layer, header, work_budget)
}

/// Run a message and return its result, or None if the work budget ended the run. The gas is `bounds.gas` if
/// the message names none.
pub fn run(
    env: &mut CallEnv<'_>,
    header: &Header,
    message: &Message,
    bounds: LiveBounds,
) -> Result<Option<Ran>, Error> {
    let gas = message.gas.unwrap_or(bounds.gas).min(gas_cap(header.gas_limit, bounds.gas_blocks));
    let mut reads = Reads::new(bounds.reads);
    if message.to == TxKind::Create {
        let nonce = env.nonce(message.sender)?;
        reads.note(Read::Nonce(message.sender, nonce));
        reads.note(Read::Account(message.sender.create(nonce)));
    }
    note_message(&mut reads, message);
    env.state.reads = Some(reads);
    let is_free = !has_fees(message);
    let outcome = env.run_prepared(message, gas, |evm| {
        // revm need not load the account of the beneficiary, because the message pays no fee.
        evm.ctx.cfg.disable_fee_charge = is_free;
        recording::install(&mut evm.instruction);
    });
    let reads = env.state.reads.take().and_then(Reads::finish);
    let (text, cost) = match outcome {
        Ok(Outcome::Success { output, gas_used, .. }) => (result(&output), gas_used),
        Ok(Outcome::Revert { output, gas_used }) => {
            (error(REVERTED, &revert_message(&output), Some(&output)), gas_used)
        }
        Ok(Outcome::Halt { reason, gas_used }) => (error(FAILED, &reason, None), gas_used),
        Ok(Outcome::Interrupted { .. }) => return Ok(None),
        Err(Error::InvalidTransaction { message, .. }) => {
            (error(FAILED, &with_supplied_gas(&message, gas), None), 0)
        }
        Err(failure) => return Err(failure),
    };
    Ok(Some(Ran { text, reads, cost }))
}

/// Return whether a message may pay for its gas or its blobs.
fn has_fees(message: &Message) -> bool {
    let fees = [message.gas_price, message.max_fee, message.max_priority_fee, message.max_blob_fee];
    fees.iter().flatten().any(|fee| !fee.is_zero())
}

/// Record the reads of a message before its code runs, except those of a creation.
fn note_message(reads: &mut Reads, message: &Message) {
    let (sender, has_fees) = (message.sender, has_fees(message));
    let has_blobs = message.blob_hashes.is_some();
    if has_fees {
        reads.note(Read::BaseFee);
    }
    if has_blobs {
        // The price of blob gas may differ in every block.
        reads.note(Read::Block);
    }
    if has_fees || has_blobs || !message.value.is_zero() {
        reads.note(Read::Account(sender));
    }
    if let (TxKind::Call(to), false) = (message.to, message.value.is_zero()) {
        reads.note(Read::Account(to));
    }
    authorities(message).for_each(|authority| reads.note(Read::Account(authority)));
}

fn authorities(message: &Message) -> impl Iterator<Item = Address> + '_ {
    let signed = message.authorizations.iter().flatten();
    signed.filter_map(|authorization| authorization.recover_authority().ok())
}

fn result(output: &[u8]) -> Vec<u8> {
    let mut text = Writer::new(Vec::with_capacity(14 + 2 * output.len()));
    text.fixed(b"\"result\":");
    text.quoted_bytes(output);
    text.into_text()
}

/// Return the member `error` of an entry in an answer of live calls, as JSON text without the enclosing
/// braces.
pub fn error(code: i64, message: &str, data: Option<&[u8]>) -> Vec<u8> {
    let message = serde_json::Value::from(message);
    let mut text = Writer::new(format!("\"error\":{{\"code\":{code},\"message\":{message}").into_bytes());
    if let Some(data) = data {
        text.fixed(b",\"data\":");
        text.quoted_bytes(data);
    }
    text.fixed(b"}");
    text.into_text()
}
