//! Reasons of reverted calls: `Error(string)` and `Panic(uint256)` of Solidity.

use alloy_primitives::U256;

const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
const WORD: usize = 32;

/// Return the error message of a reverted call in geth's words, with the reason if `output` has one.
pub fn revert_message(output: &[u8]) -> String {
    let words = "execution reverted";
    revert_reason(output).map_or_else(|| words.into(), |reason| format!("{words}: {reason}"))
}

/// Return the reason in the output of a reverted call as geth decodes it, or None for any other output.
pub fn revert_reason(output: &[u8]) -> Option<String> {
    let (selector, arguments) = output.split_first_chunk::<4>()?;
    match *selector {
        ERROR => error_text(arguments),
        PANIC => panic_text(arguments),
        _ => None,
    }
}

fn error_text(arguments: &[u8]) -> Option<String> {
    let offset = index(arguments, 0)?;
    let length = index(arguments, offset)?;
    let start = offset.checked_add(WORD)?;
    let text = arguments.get(start..start.checked_add(length)?)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn panic_text(arguments: &[u8]) -> Option<String> {
    let code = U256::from_be_slice(arguments.get(..WORD)?);
    let known = u64::try_from(code).ok().and_then(panic_reason);
    Some(known.map_or_else(|| format!("unknown panic code: {code:#x}"), Into::into))
}

/// Return a word of the arguments as a position or a length, or None if it is out of range.
fn index(arguments: &[u8], position: usize) -> Option<usize> {
    let word = arguments.get(position..position.checked_add(WORD)?)?;
    usize::try_from(U256::from_be_slice(word)).ok()
}

fn panic_reason(code: u64) -> Option<&'static str> {
    Some(match code {
        0x00 => "generic panic",
        0x01 => "assert(false)",
        0x11 => "arithmetic underflow or overflow",
        0x12 => "division or modulo by zero",
        0x21 => "enum overflow",
        0x22 => "invalid encoded storage byte array accessed",
        0x31 => "out-of-bounds array access; popping on an empty array",
        0x32 => "out-of-bounds access of an array or bytesN",
        0x41 => "out of memory",
        0x51 => "uninitialized function",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    #[test]
    fn a_string_and_a_panic_are_decoded() {
        let text = hex!("08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72");
        assert_eq!(revert_reason(&text).as_deref(), Some("user error"));
        let panic = hex!("4e487b710000000000000000000000000000000000000000000000000000000000000001");
        assert_eq!(revert_reason(&panic).as_deref(), Some("assert(false)"));
        assert_eq!(revert_message(&text), "execution reverted: user error");
    }

    #[test]
    fn anything_else_has_no_reason() {
        assert_eq!(revert_reason(b"wrong-calldatasize"), None);
        assert_eq!(revert_reason(&[]), None);
        assert_eq!(revert_message(&[]), "execution reverted");
        assert_eq!(revert_reason(&[8, 0xc3, 0x79, 0xa0, 1]), None);
    }
}
