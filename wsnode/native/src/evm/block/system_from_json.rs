//! System transactions from the JSON of other nodes, encoded again.

use std::collections::BTreeMap;

use alloy_primitives::{hex, U256};
use serde::Deserialize;
use serde_json::Value;

use crate::chain::rows::transaction::system::{encode, FieldType, Member, SystemTransaction, SystemType};

/// System transaction, read from its members in JSON.
#[derive(Debug, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>")]
pub struct JsonSystemTransaction(pub SystemTransaction);

impl TryFrom<BTreeMap<String, Value>> for JsonSystemTransaction {
    type Error = String;

    fn try_from(members: BTreeMap<String, Value>) -> Result<Self, Self::Error> {
        let row = members
            .get("type")
            .and_then(|kind| u8::try_from(quantity(kind)?).ok())
            .and_then(SystemType::of)
            .ok_or("no system transaction")?;
        let layout = row.members.map_err(|why| format!("a {} transaction, {why}", row.name))?;
        let values = layout.iter().map(|member| value(&members, *member)).collect::<Result<Vec<_>, _>>()?;
        let envelope = encode(row.kind, values.iter().map(Vec::as_slice));
        SystemTransaction::decode(&envelope).map(Self).map_err(|reason| reason.to_string())
    }
}

/// Return the bytes of a member. An absent member is empty; the decoder refuses it where a value is required.
fn value(members: &BTreeMap<String, Value>, (name, form): Member) -> Result<Vec<u8>, String> {
    let wrong = || format!("{name} of a system transaction");
    // Some nodes give the offered price under its older name alone.
    let json = members.get(name).or_else(|| members.get("gasPrice").filter(|_| name == "maxFeePerGas"));
    match (json, form) {
        (None | Some(Value::Null), _) => Ok(Vec::new()),
        (Some(Value::Bool(flag)), FieldType::Flag) => Ok(if *flag { vec![1] } else { Vec::new() }),
        (Some(json), FieldType::Number(_)) => {
            quantity(json).map(|number| number.to_be_bytes_trimmed_vec()).ok_or_else(wrong)
        }
        (Some(Value::String(text)), _) => hex::decode(text).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

fn quantity(json: &Value) -> Option<U256> {
    let digits = json.as_str()?.strip_prefix("0x")?;
    U256::from_str_radix(digits, 16).ok()
}
