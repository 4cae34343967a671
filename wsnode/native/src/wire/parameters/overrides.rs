//! State overrides in their usual form.

use alloy_primitives::map::AddressSet;
use alloy_primitives::{hex, Address, Bytes};

use super::values::HASH;
use super::{address, digits, hash, quantity};
use crate::evm::call::{AccountChanges, Overrides, Slots};
use crate::json::Text;

/// Member of an account's overrides, as a bit.
#[derive(Clone, Copy)]
enum OverrideMember {
    Nonce = 1,
    Balance = 2,
    Code = 4,
    /// Either `state` or `stateDiff`; both contradict each other.
    Storage = 8,
}

/// Return the state overrides in the next object. Each account may occur once.
pub fn state_overrides(text: &mut Text<'_>) -> Option<Overrides> {
    let (mut accounts, mut named) = (Vec::new(), AddressSet::default());
    text.entries(|text, name| {
        let address: Address = address(name)?;
        accounts.push((address, account(text)?));
        named.insert(address).then_some(())
    })?;
    Some(Overrides::of(accounts))
}

fn account(text: &mut Text<'_>) -> Option<AccountChanges> {
    let mut account = AccountChanges::default();
    text.members(|text, name| Some(set(&mut account, name, text)? as u8))?;
    Some(account)
}

fn set(account: &mut AccountChanges, name: &[u8], text: &mut Text<'_>) -> Option<OverrideMember> {
    Some(match name {
        b"nonce" => {
            account.nonce = Some(quantity(text.string()?)?.try_into().ok()?);
            OverrideMember::Nonce
        }
        b"balance" => {
            account.balance = Some(quantity(text.string()?)?);
            OverrideMember::Balance
        }
        b"code" => {
            account.code = Some(Bytes::from(hex::decode(digits(text.string()?)?).ok()?));
            OverrideMember::Code
        }
        b"state" => {
            account.state = Some(slots(text)?);
            OverrideMember::Storage
        }
        b"stateDiff" => {
            account.state_diff = Some(slots(text)?);
            OverrideMember::Storage
        }
        _ => return None,
    })
}

fn slots(text: &mut Text<'_>) -> Option<Slots> {
    let mut slots = Slots::new();
    text.entries(|text, slot| {
        let (slot, value) = (hash(slot)?, hash(text.sized(HASH)?)?);
        slots.push((slot.into(), value.into()));
        Some(())
    })?;
    Some(slots)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(text: &str) -> Option<Overrides> {
        let mut text = Text(text.as_bytes());
        let overrides = state_overrides(&mut text)?;
        text.end()?;
        Some(overrides)
    }

    #[test]
    fn usual_overrides_are_read_as_the_parser_of_json_reads_them() {
        let (one, two) = (format!("0x{:064x}", 1), format!("0x{:064x}", 0xabcu32));
        for text in [
            "{}".to_owned(),
            format!(r#"{{"{:#042x}":{{}}}}"#, 5),
            format!(
                r#" {{ "{:#042x}" : {{"nonce":"0x0","balance":"0x10", "code":"0x5F"}},
                "{:#042x}":{{"stateDiff":{{ "{one}":"{two}" , "{two}":"{one}","{one}":"{one}"}}}} }} "#,
                5, 6
            ),
            format!(r#"{{"{:#042x}":{{"state":{{}}}}}}"#, 5),
        ] {
            let parsed = Overrides::parse(Some(text.as_bytes()), None).unwrap();
            assert_eq!(sorted(read(&text).unwrap()), sorted(parsed), "{text}");
        }
    }

    /// Return the accounts in the order of their addresses, as text, each slot with its last value.
    fn sorted(overrides: Overrides) -> String {
        let table = |slots: Slots| slots.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect();
        let accounts = overrides.into_accounts().into_iter().map(|(address, mut account)| {
            account.state = account.state.map(table);
            account.state_diff = account.state_diff.map(table);
            (address, format!("{account:?}"))
        });
        format!("{:?}", accounts.collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn whatever_is_unusual_is_left_to_others() {
        let word = format!("0x{:064x}", 1);
        let account = format!("{:#042x}", 5);
        for members in [
            r#""nonce":null"#.to_owned(),
            r#""nonce":"0x01""#.into(),
            r#""nonce":"0x10000000000000000""#.into(),
            r#""nonce":1"#.into(),
            r#""Nonce":"0x1""#.into(),
            r#""nonce":"0x1","nonce":"0x1""#.into(),
            r#""balance":"0x""#.into(),
            r#""code":"""#.into(),
            r#""code":"0x1""#.into(),
            r#""state":{},"stateDiff":{}"#.into(),
            r#""state":[]"#.into(),
            r#""state":{"0x1":"0x1"}"#.into(),
            format!(r#""state":{{"{word}":"0x1"}}"#),
            format!(r#""state":{{"{word}":null}}"#),
            format!(r#""state":{{"{word}":"{word}",}}"#),
            format!(r#""movePrecompileToAddress":"{account}""#),
        ] {
            assert!(read(&format!(r#"{{"{account}":{{{members}}}}}"#)).is_none(), "{members}");
        }
        for text in [
            "[]".to_owned(),
            "null".into(),
            r#"{"0x5":{}}"#.into(),
            format!(r#"{{"{account}":null}}"#),
            format!(r#"{{"{account}":{{}},"{account}":{{}}}}"#),
        ] {
            assert!(read(&text).is_none(), "{text}");
        }
    }
}
