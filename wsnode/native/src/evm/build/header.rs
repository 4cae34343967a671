//! Header of a new block, from its parent and its attributes.

use alloy_consensus::proofs::calculate_withdrawals_root;
use alloy_consensus::{Block, BlockBody, Header, TxEnvelope, EMPTY_OMMER_ROOT_HASH};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Bytes, B256, U256};
use alloy_rlp::Encodable;

use super::BlockAttributes;
use crate::error::Error;
use crate::evm::chain_spec::{BlobGas, ChainSpec, ExtraData, Fork};
use crate::evm::rules::{next_base_fee, next_difficulty, next_excess_blob_gas, next_slot, Ancestor};

/// Return the header of the block after `parent`, without the members that depend on its transactions.
///
/// A header of proof of work has the difficulty for its time, and no seal: seals are not checked here.
pub fn open_header(
    spec: &ChainSpec,
    parent: &Ancestor,
    attributes: &BlockAttributes,
) -> Result<Header, Error> {
    let number = parent.header.number + 1;
    let is_proof_of_stake = spec.is_proof_of_stake_after(&parent.header);
    let difficulty = match is_proof_of_stake {
        true => U256::ZERO,
        false => next_difficulty(spec, attributes.timestamp, &parent.header),
    };
    let active = |fork| spec.is_active_at(fork, number, attributes.timestamp);
    let blobs = spec.blob_parameters(attributes.timestamp).filter(|_| active(Fork::Cancun));
    let amsterdam = active(Fork::Amsterdam);
    let withdrawals_root =
        active(Fork::Shanghai).then(|| calculate_withdrawals_root(&attributes.withdrawals));
    Ok(Header {
        parent_hash: parent.hash,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: attributes.fee_recipient,
        number,
        gas_limit: attributes.gas_limit,
        timestamp: attributes.timestamp,
        extra_data: extra_data(spec, &parent.header, attributes),
        difficulty,
        mix_hash: if is_proof_of_stake { attributes.prev_randao } else { B256::ZERO },
        base_fee_per_gas: attributes.base_fee.or_else(|| next_base_fee(spec, &parent.header)),
        withdrawals_root,
        blob_gas_used: blobs.map(|_| 0),
        excess_blob_gas: blobs.map(|parameters| match spec.header_rules().blob_gas {
            BlobGas::Ethereum => next_excess_blob_gas(parameters, &parent.header),
            BlobGas::Unchecked => 0,
        }),
        parent_beacon_block_root: blobs.map(|_| attributes.parent_beacon_block_root),
        requests_hash: active(Fork::Prague).then_some(alloy_eips::eip7685::EMPTY_REQUESTS_HASH),
        block_access_list_hash: amsterdam.then_some(B256::ZERO),
        slot_number: amsterdam.then(|| attributes.slot_number.unwrap_or_else(|| next_slot(&parent.header))),
        ..Header::default()
    })
}

/// Return the extra data of the attributes. On an OP stack chain, empty extra data is replaced by the
/// parent's, because it holds the parameters of the base fee (Holocene).
fn extra_data(spec: &ChainSpec, parent: &Header, attributes: &BlockAttributes) -> Bytes {
    match spec.header_rules().extra_data {
        ExtraData::Optimism if attributes.extra_data.is_empty() => parent.extra_data.clone(),
        _ => attributes.extra_data.clone(),
    }
}

/// Return the length of the block's RLP, in bytes.
pub fn block_size(header: &Header, transactions: &[TxEnvelope], withdrawals: Option<&[Withdrawal]>) -> usize {
    let body = BlockBody::<TxEnvelope> {
        transactions: transactions.to_vec(),
        ommers: Vec::new(),
        withdrawals: withdrawals.map(|list| list.to_vec().into()),
    };
    Block::new(header.clone(), body).length()
}
