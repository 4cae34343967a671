//! Names of instructions as geth prints them.

use std::borrow::Cow;

use revm::bytecode::opcode::OpCode;

/// Return the name of an instruction, or a text with its number if no rules have it.
///
/// geth also names the instructions of the EVM object format, which no fork has (core/vm/opcodes.go).
pub fn opcode_name(code: u8) -> Cow<'static, str> {
    if let Some(known) = OpCode::new(code) {
        return known.as_str().into();
    }
    let name = match code {
        0xd0 => "DATALOAD",
        0xd1 => "DATALOADN",
        0xd2 => "DATASIZE",
        0xd3 => "DATACOPY",
        0xe0 => "RJUMP",
        0xe1 => "RJUMPI",
        0xe2 => "RJUMPV",
        0xe3 => "CALLF",
        0xe4 => "RETF",
        0xe5 => "JUMPF",
        0xec => "EOFCREATE",
        0xee => "RETURNCONTRACT",
        0xf7 => "RETURNDATALOAD",
        0xf8 => "EXTCALL",
        0xf9 => "EXTDELEGATECALL",
        0xfb => "EXTSTATICCALL",
        _ => return format!("opcode {code:#x} not defined").into(),
    };
    name.into()
}
