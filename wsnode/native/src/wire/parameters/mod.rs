//! Parameters in their usual form, read directly from the text.
//!
//! Each function returns None for parameters in any other form, valid or not.

pub mod call;
mod logs;
mod overrides;
mod values;

pub use logs::log_parameters;
pub use values::{address, block, digits, hash, quantity, slot};

use crate::json::Text;
use alloy_primitives::{Address, B256, U256};

/// Return the address and the block of `[address, block]`. The block is None for the latest.
pub fn account_parameters(params: &[u8]) -> Option<(Address, Option<u64>)> {
    let mut text = Text(params);
    text.take(b'[')?;
    let address = address(text.string()?)?;
    Some((address, last_block(&mut text)?))
}

/// Return the address with the slot, and the block, of `[address, slot, block]`. The block is None for the
/// latest.
pub fn slot_parameters(params: &[u8]) -> Option<((Address, U256), Option<u64>)> {
    let mut text = Text(params);
    text.take(b'[')?;
    let address = address(text.string()?)?;
    text.take(b',')?;
    let slot = slot(text.string()?)?;
    Some(((address, slot), last_block(&mut text)?))
}

/// Return the block of `[block, flag]`, None for the latest, and the flag for transaction objects.
pub fn block_parameters(params: &[u8]) -> Option<(Option<u64>, bool)> {
    with_flag(params, block)
}

/// Return the block hash of `[hash, flag]`, and the flag for transaction objects.
pub fn block_hash_parameters(params: &[u8]) -> Option<(B256, bool)> {
    with_flag(params, hash)
}

fn with_flag<T>(params: &[u8], read: impl FnOnce(&[u8]) -> Option<T>) -> Option<(T, bool)> {
    let mut text = Text(params);
    text.take(b'[')?;
    let first = read(text.string()?)?;
    text.take(b',')?;
    let flag = text.boolean()?;
    text.take(b']')?;
    text.end()?;
    Some((first, flag))
}

/// Return the hash of `[hash]`.
pub fn hash_parameters(params: &[u8]) -> Option<B256> {
    let mut text = Text(params);
    text.take(b'[')?;
    let hash = hash(text.string()?)?;
    text.take(b']')?;
    text.end()?;
    Some(hash)
}

/// Return the block of the last parameter: None for the latest, also without the parameter.
pub fn last_block(text: &mut Text<'_>) -> Option<Option<u64>> {
    let block = match text.take(b',') {
        Some(()) => block(text.string()?)?,
        None => None,
    };
    text.take(b']')?;
    text.end()?;
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "0x00000000000000000000000000000000000000fF";

    #[test]
    fn usual_parameters_are_read() {
        let address = Address::with_last_byte(255);
        let read = |text: String| account_parameters(text.as_bytes());
        assert_eq!(read(format!(r#" [ "{ADDRESS}" , "latest" ] "#)), Some((address, None)));
        assert_eq!(read(format!(r#"["{ADDRESS}"]"#)), Some((address, None)));
        assert_eq!(read(format!(r#"["{ADDRESS}","0x3e8"]"#)), Some((address, Some(1000))));
        let slots = format!(r#"["{ADDRESS}","0x00a","0x0"]"#);
        assert_eq!(slot_parameters(slots.as_bytes()), Some(((address, U256::from(10)), Some(0))));
        let hash = format!(r#"["0x{:064x}"]"#, 10);
        assert_eq!(hash_parameters(hash.as_bytes()), Some(B256::with_last_byte(10)));
        let hash = format!(r#"["0x{:064x}",true]"#, 10);
        assert_eq!(block_hash_parameters(hash.as_bytes()), Some((B256::with_last_byte(10), true)));
        assert_eq!(block_parameters(br#" [ "latest" , false ] "#), Some((None, false)));
        assert_eq!(block_parameters(br#"["0x3e8",true]"#), Some((Some(1000), true)));
    }

    #[test]
    fn whatever_is_unusual_is_left_to_others() {
        for rest in [
            "",
            r#","latest""#,
            r#"] 1"#,
            r#",null]"#,
            r#","pending"]"#,
            r#","0x01"]"#,
            r#","0x8000000000000000"]"#,
            r#","latest",1]"#,
            r#","latest"]]"#,
        ] {
            assert!(account_parameters(format!(r#"["{ADDRESS}"{rest}"#).as_bytes()).is_none(), "{rest}");
            let slots = format!(r#"["{ADDRESS}","0x0"{rest}"#);
            assert!(slot_parameters(slots.as_bytes()).is_none(), "{rest}");
        }
        for slot in ["", "0x", "1", "0X1", "0x0x1", "0xg", &format!("0x{:065x}", 1)] {
            let slots = format!(r#"["{ADDRESS}","{slot}"]"#);
            assert!(slot_parameters(slots.as_bytes()).is_none(), "{slot}");
        }
        for hash in ["0x", ADDRESS, &"00".repeat(33), &format!("0x0x{:062x}", 1)] {
            assert!(hash_parameters(format!(r#"["{hash}"]"#).as_bytes()).is_none(), "{hash}");
        }
        assert!(hash_parameters(format!(r#"["0x{:064x}",1]"#, 10).as_bytes()).is_none());
        for rest in ["", ",", ",1", ",null", ",tru", r#","true""#, ",true,1", ",truefalse"] {
            assert!(block_parameters(format!(r#"["latest"{rest}]"#).as_bytes()).is_none(), "{rest}");
        }
    }
}
