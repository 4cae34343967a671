//! Blocks, headers and receipts from the JSON of other nodes, encoded again as RLP or as rows of the store.

use std::fmt;

use alloy_consensus::proofs::ordered_trie_root_encoded;
use alloy_consensus::{Block, BlockBody, Eip658Value, Header, TxEnvelope};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{Bloom, Log, B256, U64, U8};
use alloy_rpc_types_eth::{Header as JsonHeader, Transaction as JsonSigned};
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::decode::decode;
use super::system_from_json::JsonSystemTransaction;
use crate::chain::rows::transaction::system::SystemType;
use crate::chain::rows::{encode_receipts_of, DepositReceipt, ReceiptsRow, StoredReceipt, Transaction};
use crate::error::{require_equal, Error, Rule, RuleViolation};
use crate::evm::chain_spec::Family;

/// Return the RLP of a block from its JSON with whole transactions, and from the JSON of its ommers' headers.
///
/// Hashes in the JSON are ignored, because decoding the RLP computes them again from the fields.
pub fn encode_json_block(block: &[u8], ommers: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let unreadable = |reason: serde_json::Error| unreadable_block(block, &reason);
    let json: JsonBlock<'_> = serde_json::from_slice(block).map_err(unreadable)?;
    let listed = json.transactions;
    let listed = listed.ok_or_else(|| unusual("a block with whole transactions", "none"))?;
    if listed.iter().any(|each| is_hash(each)) {
        return Err(unusual("whole transactions", "hashes"));
    }
    if json.uncles.len() != ommers.len() {
        return Err(unusual(format!("{} ommers", json.uncles.len()), ommers.len()));
    }
    let header: JsonHeader = serde_json::from_value(Value::Object(json.header)).map_err(unreadable)?;
    let headers =
        ommers.iter().map(|ommer| read::<JsonHeader>(ommer, "an ommer's header").map(|json| json.inner));
    let transactions = listed.iter().map(|each| read_transaction(each.get()));
    let body = BlockBody::<Transaction, Header> {
        transactions: transactions.collect::<Result<_, _>>().map_err(unreadable)?,
        ommers: headers.collect::<Result<_, _>>()?,
        withdrawals: json.withdrawals,
    };
    Ok(alloy_rlp::encode(Block { header: header.inner, body }))
}

fn is_hash(transaction: &RawValue) -> bool {
    transaction.get().starts_with('"')
}

/// Return the transaction in a JSON text. A signed transaction is tried first, because system transactions
/// are rare.
fn read_transaction(text: &str) -> Result<Transaction, serde_json::Error> {
    match serde_json::from_str::<JsonSigned<TxEnvelope>>(text) {
        Ok(json) => Ok(Transaction::Signed(json.inner.into_inner())),
        Err(reason) => match serde_json::from_str::<JsonSystemTransaction>(text) {
            Ok(json) => Ok(Transaction::System(json.0)),
            Err(_) => Err(reason),
        },
    }
}

/// Block in JSON with its transactions as text. A transaction's type shows only when it is read.
#[derive(Default)]
struct JsonBlock<'a> {
    transactions: Option<Vec<&'a RawValue>>,
    uncles: Vec<B256>,
    withdrawals: Option<Withdrawals>,
    /// Members other than transactions, ommers and withdrawals.
    header: Map<String, Value>,
}

impl<'de> Deserialize<'de> for JsonBlock<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BlockMembers)
    }
}

/// Visitor that reads the members of a block in one pass.
struct BlockMembers;

impl<'de> Visitor<'de> for BlockMembers {
    type Value = JsonBlock<'de>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a block")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<JsonBlock<'de>, A::Error> {
        let mut block = JsonBlock::default();
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "transactions" => block.transactions = members.next_value()?,
                "uncles" => block.uncles = members.next_value()?,
                "withdrawals" => block.withdrawals = members.next_value()?,
                _ => {
                    block.header.insert(name, members.next_value()?);
                }
            }
        }
        Ok(block)
    }
}

/// Return the row of a block's receipts from their JSON. The values are not checked: the caller compares the
/// receipts root.
pub fn encode_json_receipts(receipts: &[u8]) -> Result<Vec<u8>, Error> {
    read_receipts(receipts).map(|json| encode_receipts_of(&json))
}

/// Return the row of a block's receipts from their JSON, if the header in the block's RLP commits to them.
/// `family` is the family of the block's chain.
pub fn encode_proved_receipts(block: &[u8], receipts: &[u8], family: Family) -> Result<Vec<u8>, Error> {
    let block = decode(block, |_| family)?;
    let row = encode_json_receipts(receipts)?;
    let kinds = block.transactions.iter().map(Transaction::kind);
    let root = ReceiptsRow::new(&row)
        .and_then(|row| row.envelopes(kinds))
        .map(|envelopes| ordered_trie_root_encoded(&envelopes))
        .map_err(|reason| unusual("a receipt for each transaction", reason))?;
    require_equal(Rule::ReceiptsRoot, block.header.receipts_root, root)
        .map_err(|violation| violation.in_block(Some(block.header.number), None))?;
    Ok(row)
}

/// Members of a receipt in JSON that the receipts root covers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonReceipt {
    status: Option<U8>,
    root: Option<B256>,
    cumulative_gas_used: U64,
    logs_bloom: Bloom,
    logs: Vec<Log>,
    deposit_nonce: Option<U64>,
    deposit_receipt_version: Option<U64>,
}

impl StoredReceipt for JsonReceipt {
    fn status(&self) -> Eip658Value {
        match (self.status, self.root) {
            (None, Some(root)) => Eip658Value::PostState(root),
            (status, _) => Eip658Value::Eip658(status == Some(U8::from(1))),
        }
    }

    fn cumulative_gas_used(&self) -> u64 {
        self.cumulative_gas_used.to()
    }

    fn bloom(&self) -> &Bloom {
        &self.logs_bloom
    }

    fn logs(&self) -> &[Log] {
        &self.logs
    }

    fn deposit(&self) -> Option<DepositReceipt> {
        // Without a version, no receipts root contains the deposit nonce.
        let version = self.deposit_receipt_version?.to();
        Some(DepositReceipt { nonce: self.deposit_nonce.unwrap_or_default().to(), version })
    }
}

pub fn read_json_header(block: &[u8]) -> Result<Header, Error> {
    Ok(read::<JsonHeader>(block, "a block's header")?.inner)
}

fn read<T: DeserializeOwned>(text: &[u8], expected: &str) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|reason| unusual(expected, reason))
}

/// Highest type of transactions that an account signs (EIP-7702).
const LAST_SIGNED: u8 = 4;

/// Block's number, and its transactions as text.
#[derive(Deserialize)]
struct Outline<'a> {
    number: Option<String>,
    #[serde(borrow)]
    transactions: Vec<&'a RawValue>,
}

/// Members that identify a transaction in its own JSON or in its receipt's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Name {
    block_number: Option<String>,
    #[serde(alias = "transactionHash")]
    hash: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// Return the error for an unreadable block. It names the first unreadable transaction, if there is one.
fn unreadable_block(block: &[u8], reason: &serde_json::Error) -> Error {
    let expected = "a block with whole transactions";
    let Ok(outline) = serde_json::from_slice::<Outline<'_>>(block) else {
        return unusual(expected, reason);
    };
    let unread =
        first_unreadable(&outline.transactions, "transaction", |text| read_transaction(text).is_ok());
    let number = outline.number.map_or_else(String::new, |number| format!("block {}, ", decimal(&number)));
    let (rule, unread) = unread.unwrap_or_else(|| (Rule::Json, reason.to_string()));
    RuleViolation::new(rule, expected, format!("{number}{unread}")).in_block(None, None).into()
}

fn read_receipts(receipts: &[u8]) -> Result<Vec<JsonReceipt>, Error> {
    let expected = "the receipts of a block";
    serde_json::from_slice(receipts).map_err(|reason| {
        let items = serde_json::from_slice::<Vec<&RawValue>>(receipts).unwrap_or_default();
        let is_read = |text: &str| serde_json::from_str::<JsonReceipt>(text).is_ok();
        let unread = first_unreadable(&items, "the receipt of transaction", is_read);
        unusual(expected, unread.map_or_else(|| reason.to_string(), |(_, unread)| unread))
    })
}

/// Return the rule that the first unreadable item breaks, and a text with its index, hash and type; None if
/// all can be read. The items are transactions or receipts.
fn first_unreadable(
    items: &[&RawValue],
    what: &str,
    is_read: impl Fn(&str) -> bool,
) -> Option<(Rule, String)> {
    let index = items.iter().position(|item| !is_read(item.get()))?;
    let name = serde_json::from_str::<Name>(items[index].get()).ok();
    let (number, hash, kind) =
        name.map_or((None, None, None), |name| (name.block_number, name.hash, name.kind));
    let block =
        number.filter(|_| what != "transaction").map(|number| format!("block {}, ", decimal(&number)));
    let hash = hash.map(|hash| format!(" ({hash})")).unwrap_or_default();
    let rule = match kind.as_deref().and_then(type_number) {
        Some(number) if number > LAST_SIGNED && SystemType::of(number).is_none() => Rule::TransactionType,
        _ => Rule::Json,
    };
    let row = kind.as_deref().and_then(type_number).and_then(SystemType::of);
    let why = row.and_then(|row| row.members.err());
    let why = why.unwrap_or("which cannot be read");
    let kind = kind.unwrap_or_else(|| "unknown".to_owned());
    Some((rule, format!("{}{what} {index}{hash} of type {kind}, {why}", block.unwrap_or_default())))
}

fn type_number(kind: &str) -> Option<u8> {
    u8::from_str_radix(kind.strip_prefix("0x")?, 16).ok()
}

/// Return a quantity in decimal digits, or the text itself if it is no quantity.
fn decimal(quantity: &str) -> String {
    let digits = quantity.strip_prefix("0x").unwrap_or(quantity);
    u64::from_str_radix(digits, 16).map_or_else(|_| quantity.to_owned(), |number| number.to_string())
}

fn unusual(expected: impl fmt::Display, actual: impl fmt::Display) -> Error {
    RuleViolation::new(Rule::Json, expected, actual).in_block(None, None).into()
}
