//! Parameters of calls in their usual form, read directly from the text.

use alloy_primitives::{hex, Bytes, TxKind};

use super::overrides::state_overrides;
use super::{address, digits, quantity};
use crate::evm::call::{Message, Overrides};
use crate::json::Text;

/// Parameters `[call, block, state overrides]`, each in its usual form.
#[derive(Debug)]
pub struct CallText {
    pub message: Message,
    /// Block number; None for the latest block.
    pub block: Option<u64>,
    pub overrides: Overrides,
}

/// Member of a call object, as a bit.
#[derive(Clone, Copy)]
enum CallMember {
    From = 1,
    To = 2,
    Gas = 4,
    GasPrice = 8,
    Value = 16,
    Input = 32,
}

/// Return the call in `params`. None if any part of them is unusual, valid or not.
pub fn read(params: &[u8]) -> Option<CallText> {
    let mut text = Text(params);
    text.take(b'[')?;
    let message = call_object(&mut text)?;
    let (mut block, mut overrides) = (None, Overrides::default());
    if text.take(b',').is_some() {
        block = super::block(text.string()?)?;
        if text.take(b',').is_some() {
            overrides = state_overrides(&mut text)?;
        }
    }
    text.take(b']')?;
    text.end()?;
    Some(CallText { message, block, overrides })
}

fn call_object(text: &mut Text<'_>) -> Option<Message> {
    let mut message = Message { to: TxKind::Create, ..Message::default() };
    text.members(|text, name| Some(set(&mut message, name, text.string()?)? as u8))?;
    Some(message)
}

fn set(message: &mut Message, name: &[u8], value: &[u8]) -> Option<CallMember> {
    Some(match name {
        b"from" => {
            message.sender = address(value)?;
            CallMember::From
        }
        b"to" => {
            message.to = TxKind::Call(address(value)?);
            CallMember::To
        }
        b"gas" => {
            message.gas = Some(quantity(value)?.try_into().ok()?);
            CallMember::Gas
        }
        b"gasPrice" => {
            message.gas_price = Some(quantity(value)?);
            CallMember::GasPrice
        }
        b"value" => {
            message.value = quantity(value)?;
            CallMember::Value
        }
        // `data` and `input` share a bit, so a call with both is refused here: they may contradict each
        // other.
        b"data" | b"input" => {
            message.input = Bytes::from(hex::decode(digits(value)?).ok()?);
            CallMember::Input
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};

    use super::*;

    #[test]
    fn usual_calls_are_read() {
        let text = br#" [ {"to":"0x00000000000000000000000000000000000000ff" , "data":"0x0aFF","value":"0x10"}, "latest" ] "#;
        let call = read(text).unwrap();
        assert_eq!(call.message.to, TxKind::Call(Address::with_last_byte(255)));
        assert_eq!(call.message.input[..], [0x0a, 0xff]);
        assert_eq!((call.message.value, call.block), (U256::from(16), None));
        assert_eq!(read(br#"[{},"0x3e8"]"#).unwrap().block, Some(1000));
        let overridden = br#"[{},"latest",{"0x00000000000000000000000000000000000000ff":{"balance":"0x1"}}]"#;
        assert_eq!(read(overridden).unwrap().overrides.values(), 1);
        assert!(read(br#"[{},"latest",{}]"#).unwrap().overrides.is_empty());
        assert_eq!(read(br#"[{"gas":"0x0"}]"#).unwrap().message.gas, Some(0));
    }

    #[test]
    fn whatever_is_unusual_is_left_to_others() {
        for text in [
            r#"[]"#,
            r#"[{}"#,
            r#"[{}] 1"#,
            r#"[{},null]"#,
            r#"[{},"pending"]"#,
            r#"[{},"0x01"]"#,
            r#"[{},"0x8000000000000000"]"#,
            r#"[{},"latest",null]"#,
            r#"[{},"latest",{"0x1":{}}]"#,
            r#"[{},"latest",{},{}]"#,
            r#"[{},{}]"#,
            r#"[{"to":null}]"#,
            r#"[{"to":"0xff"}]"#,
            r#"[{"gas":"0x"}]"#,
            r#"[{"gas":"0x10000000000000000"}]"#,
            r#"[{"gas":5}]"#,
            r#"[{"data":"0x0"}]"#,
            r#"[{"data":""}]"#,
            r#"[{"data":"0x0x00"}]"#,
            r#"[{"data":"0x","input":"0x"}]"#,
            r#"[{"data":"0x","data":"0x"}]"#,
            r#"[{"nonce":"0x1"}]"#,
            r#"[{"To":"0x00000000000000000000000000000000000000ff"}]"#,
            r#"[{"value":"0x\u0031"}]"#,
        ] {
            assert!(read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
