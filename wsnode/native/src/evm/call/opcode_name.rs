//! The names of instructions as geth prints them.

use std::borrow::Cow;

use revm::bytecode::opcode::OpCode;

/// The name of an instruction; one that no rules have is shown as a number.
///
/// geth also names the instructions of the object format that no fork took up (core/vm/opcodes.go).
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
