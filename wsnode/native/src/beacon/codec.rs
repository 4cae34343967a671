//! Decoder of the Beacon API's light-client objects from JSON, in the form of the fork named by the answer.
//!
//! Numbers are decimal strings and bytes hexadecimal strings; unknown members are ignored. The decoder checks the
//! form of the objects only; `rules` verifies their branches and signatures.

use std::fmt;
use std::str::FromStr;

use alloy_primitives::{hex, B256, U256};
use serde::de::{Deserializer, Error, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::forks::{BeaconConfig, ConsensusFork, ExecutionForm, ForkForm, PAYLOAD};
use super::merkle::{bytes_leaf, bytes_root, depth, hash_pair, number_leaf};
use super::objects::{
    BeaconHeader, Branched, ExecutionPart, LightClientBootstrap, LightClientUpdate, PayloadHeader,
    UnverifiedCommittee, UnverifiedHeader, UpdateKind, KEY_BYTES, SIGNATURE_BYTES,
};
use super::refusal::Refusal;

/// Longest answer that is read, in bytes; an answer with a committee of 512 keys has about 60 kB.
const MAX_BYTES: usize = 4 << 20;
/// Maximum number of updates in a list (beacon-APIs: MAX_REQUEST_LIGHT_CLIENT_UPDATES).
const MAX_UPDATES: usize = 128;
const MAX_EXTRA_BYTES: usize = 32;

/// Return the bootstrap of an answer `{version, data}`.
pub fn decode_bootstrap(network: &BeaconConfig, answer: &[u8]) -> Result<LightClientBootstrap, Refusal> {
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        header: HeaderText<'a>,
        current_sync_committee: CommitteeText,
        current_sync_committee_branch: Vec<Root>,
    }
    let (form, data) = read_answer(answer)?;
    let data: Data = read(data)?;
    Ok(LightClientBootstrap {
        header: data.header.header(form)?,
        committee: Branched {
            value: data.current_sync_committee.committee(network)?,
            branch: branch(data.current_sync_committee_branch, form.current_committee)?,
        },
    })
}

/// Return the update of an answer `{version, data}`.
pub fn decode_update(
    network: &BeaconConfig,
    kind: UpdateKind,
    answer: &[u8],
) -> Result<LightClientUpdate, Refusal> {
    #[derive(Deserialize)]
    struct Signed<'a> {
        #[serde(borrow)]
        attested_header: HeaderText<'a>,
        sync_aggregate: AggregateText,
        signature_slot: QuotedNumber,
    }
    let (form, data) = read_answer(answer)?;
    let signed: Signed = read(data)?;
    let finalized = match kind {
        UpdateKind::Update | UpdateKind::Finality => Some(read_finality(data, form)?),
        UpdateKind::Optimistic => None,
    };
    let next_committee = match kind {
        UpdateKind::Update => Some(read_next_committee(data, form, network)?),
        UpdateKind::Finality | UpdateKind::Optimistic => None,
    };
    Ok(LightClientUpdate {
        attested: signed.attested_header.header(form)?,
        next_committee,
        finalized,
        signers: signed.sync_aggregate.signers(network)?,
        signature: signed.sync_aggregate.sync_committee_signature.0,
        signature_slot: signed.signature_slot.0,
    })
}

/// Return the answers of a JSON list of at most 128 updates, each the bytes of an object for `decode_update`.
pub fn split_answers(list: &[u8]) -> Result<Vec<&[u8]>, Refusal> {
    let answers: Vec<&RawValue> = read(text(list)?)?;
    if answers.len() > MAX_UPDATES {
        return Err(Refusal::malformed(format!("{} updates, {MAX_UPDATES} at most", answers.len())));
    }
    Ok(answers.into_iter().map(|answer| answer.get().as_bytes()).collect())
}

fn read_finality(data: &str, form: &ForkForm) -> Result<Branched<UnverifiedHeader>, Refusal> {
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        finalized_header: HeaderText<'a>,
        finality_branch: Vec<Root>,
    }
    let data: Data = read(data)?;
    Ok(Branched {
        value: data.finalized_header.header(form)?,
        branch: branch(data.finality_branch, form.finalized_root)?,
    })
}

fn read_next_committee(
    data: &str,
    form: &ForkForm,
    network: &BeaconConfig,
) -> Result<Branched<UnverifiedCommittee>, Refusal> {
    #[derive(Deserialize)]
    struct Data {
        next_sync_committee: CommitteeText,
        next_sync_committee_branch: Vec<Root>,
    }
    let data: Data = read(data)?;
    Ok(Branched {
        value: data.next_sync_committee.committee(network)?,
        branch: branch(data.next_sync_committee_branch, form.next_committee)?,
    })
}

/// Return the form of the fork in the answer's `version`, and the JSON text of its `data`.
fn read_answer(answer: &[u8]) -> Result<(&'static ForkForm, &str), Refusal> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        version: String,
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let answer: Answer = read(text(answer)?)?;
    match ConsensusFork::named(&answer.version) {
        None | Some(ConsensusFork::Phase0) => Err(Refusal::version(&answer.version)),
        Some(fork) => Ok((fork.form(), answer.data.get())),
    }
}

fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    if bytes.len() > MAX_BYTES {
        return Err(Refusal::malformed(format!("{} bytes, {MAX_BYTES} at most", bytes.len())));
    }
    std::str::from_utf8(bytes).map_err(Refusal::malformed)
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(Refusal::malformed)
}

/// Return the nodes of a branch; refuse a branch longer or shorter than the depth of its generalized index.
fn branch(nodes: Vec<Root>, index: u64) -> Result<Vec<B256>, Refusal> {
    if nodes.len() != depth(index) {
        return Err(Refusal::malformed(format!("a branch of {} nodes, not {}", nodes.len(), depth(index))));
    }
    Ok(nodes.into_iter().map(B256::from).collect())
}

type Root = QuotedHex<32>;

/// `N` bytes, written in a JSON string as `0x` and two hexadecimal digits each.
#[derive(Clone, Copy)]
struct QuotedHex<const N: usize>([u8; N]);

/// Number of 64 bits, written in a JSON string as 1 to 20 decimal digits.
#[derive(Clone, Copy)]
struct QuotedNumber(u64);

/// JSON string of any content.
struct QuotedText(String);

impl From<Root> for B256 {
    fn from(root: Root) -> Self {
        Self::new(root.0)
    }
}

/// Visitor of a JSON string: the text for its errors, and the function that parses the borrowed string.
struct StringVisitor<T>(&'static str, fn(&str) -> Option<T>);

impl<T> Visitor<'_> for StringVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).ok_or_else(|| E::custom(format_args!("{:?} is not {}", start_of(text), self.0)))
    }
}

impl<'de, const N: usize> Deserialize<'de> for QuotedHex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StringVisitor("bytes of the right length in hexadecimal", |text| {
            let mut bytes = [0; N];
            let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 2 * N)?;
            hex::decode_to_slice(digits, &mut bytes).ok().map(|()| Self(bytes))
        }))
    }
}

impl<'de> Deserialize<'de> for QuotedNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StringVisitor("a number of 64 bits in a string", |text| {
            is_decimal(text, 20).then(|| text.parse().ok()).flatten().map(Self)
        }))
    }
}

impl<'de> Deserialize<'de> for QuotedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StringVisitor("a string", |text| Some(Self(text.to_owned()))))
    }
}

fn is_decimal(text: &str, most_digits: usize) -> bool {
    (1..=most_digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[derive(Deserialize)]
struct HeaderText<'a> {
    beacon: BeaconText,
    // The execution members stay text here. `header` parses those of the answer's fork only.
    #[serde(borrow)]
    execution: Option<&'a RawValue>,
    #[serde(borrow)]
    execution_block_hash: Option<&'a RawValue>,
    #[serde(borrow)]
    execution_branch: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BeaconText {
    slot: QuotedNumber,
    proposer_index: QuotedNumber,
    parent_root: Root,
    state_root: Root,
    body_root: Root,
}

#[derive(Deserialize)]
struct CommitteeText {
    pubkeys: Vec<QuotedHex<KEY_BYTES>>,
    aggregate_pubkey: QuotedHex<KEY_BYTES>,
}

#[derive(Deserialize)]
struct AggregateText {
    sync_committee_bits: QuotedText,
    sync_committee_signature: QuotedHex<SIGNATURE_BYTES>,
}

impl HeaderText<'_> {
    fn header(&self, form: &ForkForm) -> Result<UnverifiedHeader, Refusal> {
        let member = |value: Option<&RawValue>, name: &str| {
            value.map(|value| value.get().to_owned()).ok_or_else(|| missing(name))
        };
        let nodes = |index| {
            let text = member(self.execution_branch, "execution_branch")?;
            branch(read(&text)?, index)
        };
        let execution = match form.execution {
            ExecutionForm::None => ExecutionPart::None,
            ExecutionForm::Payload(members) => ExecutionPart::Payload {
                payload: Box::new(read_payload(&member(self.execution, "execution")?, members)?),
                branch: nodes(PAYLOAD)?,
            },
            ExecutionForm::BlockHash(index) => ExecutionPart::BlockHash {
                block_hash: read::<Root>(&member(self.execution_block_hash, "execution_block_hash")?)?.into(),
                branch: nodes(index)?,
            },
        };
        let BeaconText { slot, proposer_index, parent_root, state_root, body_root } = &self.beacon;
        let beacon = BeaconHeader {
            slot: slot.0,
            proposer_index: proposer_index.0,
            parent_root: (*parent_root).into(),
            state_root: (*state_root).into(),
            body_root: (*body_root).into(),
        };
        Ok(UnverifiedHeader { beacon, execution })
    }
}

impl CommitteeText {
    fn committee(self, network: &BeaconConfig) -> Result<UnverifiedCommittee, Refusal> {
        if self.pubkeys.len() as u64 != network.committee_size {
            return Err(Refusal::malformed(format!(
                "a committee of {} members, not {}",
                self.pubkeys.len(),
                network.committee_size
            )));
        }
        let pubkeys = self.pubkeys.into_iter().map(|key| key.0).collect();
        Ok(UnverifiedCommittee { pubkeys, aggregate: self.aggregate_pubkey.0 })
    }
}

impl AggregateText {
    fn signers(&self, network: &BeaconConfig) -> Result<Vec<bool>, Refusal> {
        let text = &self.sync_committee_bits.0;
        let bytes = decode_hex(text).filter(|bytes| bytes.len() as u64 * 8 == network.committee_size);
        let reason = || Refusal::malformed(format!("{:?} has not a bit for each member", start_of(text)));
        let bytes = bytes.ok_or_else(reason)?;
        // The bit of the first member is the lowest bit of the first byte.
        Ok(bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect())
    }
}

/// Return the bytes of a text of `0x` and two hexadecimal digits a byte; none if it is no such text.
fn decode_hex(text: &str) -> Option<Vec<u8>> {
    // `hex::decode` would skip a second prefix.
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with("0x"))?;
    hex::decode(digits).ok()
}

/// Return the first 40 characters of a text, so that a message never quotes a long answer.
fn start_of(text: &str) -> String {
    text.chars().take(40).collect()
}

fn missing(member: &str) -> Refusal {
    Refusal::malformed(format!("{member} is missing"))
}

fn read_payload(text: &str, members: usize) -> Result<PayloadHeader, Refusal> {
    #[derive(Deserialize)]
    struct Payload {
        parent_hash: Root,
        fee_recipient: QuotedHex<20>,
        state_root: Root,
        receipts_root: Root,
        logs_bloom: QuotedHex<256>,
        prev_randao: Root,
        block_number: QuotedNumber,
        gas_limit: QuotedNumber,
        gas_used: QuotedNumber,
        timestamp: QuotedNumber,
        extra_data: QuotedText,
        base_fee_per_gas: QuotedText,
        block_hash: Root,
        transactions_root: Root,
        withdrawals_root: Root,
        blob_gas_used: Option<QuotedNumber>,
        excess_blob_gas: Option<QuotedNumber>,
    }
    let payload: Payload = read(text)?;
    let blob_gas = |value: Option<QuotedNumber>, name| match value {
        Some(number) if members > 15 => Ok(number_leaf(number.0)),
        None if members > 15 => Err(missing(name)),
        _ => Ok(B256::ZERO),
    };
    let extra_data = read_extra_data(&payload.extra_data.0)?;
    let leaves = [
        payload.parent_hash.into(),
        bytes_leaf(&payload.fee_recipient.0),
        payload.state_root.into(),
        payload.receipts_root.into(),
        bytes_root(&payload.logs_bloom.0),
        payload.prev_randao.into(),
        number_leaf(payload.block_number.0),
        number_leaf(payload.gas_limit.0),
        number_leaf(payload.gas_used.0),
        number_leaf(payload.timestamp.0),
        hash_pair(&bytes_leaf(&extra_data)[..], &number_leaf(extra_data.len() as u64)[..]),
        base_fee_leaf(&payload.base_fee_per_gas.0)?,
        payload.block_hash.into(),
        payload.transactions_root.into(),
        payload.withdrawals_root.into(),
        blob_gas(payload.blob_gas_used, "blob_gas_used")?,
        blob_gas(payload.excess_blob_gas, "excess_blob_gas")?,
    ];
    let is_empty = extra_data.is_empty()
        && payload.logs_bloom.0.iter().all(|byte| *byte == 0)
        && leaves.iter().enumerate().all(|(member, leaf)| matches!(member, 4 | 10) || leaf.is_zero());
    Ok(PayloadHeader { leaves, block_hash: payload.block_hash.into(), is_empty })
}

fn read_extra_data(text: &str) -> Result<Vec<u8>, Refusal> {
    let bytes = decode_hex(text).filter(|bytes| bytes.len() <= MAX_EXTRA_BYTES);
    bytes.ok_or_else(|| Refusal::malformed(format!("{:?} is not extra data", start_of(text))))
}

fn base_fee_leaf(text: &str) -> Result<B256, Refusal> {
    let number = is_decimal(text, 78).then(|| U256::from_str(text).ok()).flatten();
    let number =
        number.ok_or_else(|| Refusal::malformed(format!("{:?} is not a base fee", start_of(text))))?;
    Ok(B256::new(number.to_le_bytes()))
}
