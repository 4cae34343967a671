//! Why a run halted, in geth's words.

use revm::bytecode::opcode::OpCode;
use revm::context_interface::result::{HaltReason, OutOfGasError};

use super::diagnosis::LastStep;

const STACK_LIMIT: usize = 1024;
const RETURN: u8 = 0xf3;

/// Whether the words for `reason` depend on the instruction that was the last.
pub fn needs_last_step(reason: &HaltReason, is_create: bool) -> bool {
    match reason {
        HaltReason::OutOfGas(OutOfGasError::Basic) => is_create,
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => true,
        HaltReason::StackUnderflow | HaltReason::StackOverflow => true,
        _ => false,
    }
}

pub fn words(reason: &HaltReason, last: LastStep) -> String {
    match reason {
        HaltReason::OutOfGas(error) => out_of_gas(error, last).into(),
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => {
            format!("invalid opcode: {}", opcode_name(last.opcode))
        }
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID".into(),
        HaltReason::StackUnderflow => {
            format!("stack underflow ({} <=> {})", last.stack, taken(last.opcode))
        }
        HaltReason::StackOverflow => {
            let room = STACK_LIMIT + taken(last.opcode);
            format!("stack limit reached {} ({})", last.stack, room.saturating_sub(given(last.opcode)))
        }
        HaltReason::PrecompileErrorWithContext(words) => words.clone(),
        other => plain(other).into(),
    }
}

fn out_of_gas(error: &OutOfGasError, last: LastStep) -> &'static str {
    match error {
        OutOfGasError::InvalidOperand => "gas uint64 overflow",
        OutOfGasError::Basic if last.opcode == RETURN => "contract creation code storage out of gas",
        _ => "out of gas",
    }
}

fn plain(reason: &HaltReason) -> &'static str {
    match reason {
        HaltReason::InvalidJump => "invalid jump destination",
        HaltReason::OutOfOffset => "return data out of bounds",
        HaltReason::CreateCollision => "contract address collision",
        HaltReason::NonceOverflow => "nonce uint64 overflow",
        HaltReason::CreateContractSizeLimit => "max code size exceeded",
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef",
        HaltReason::CreateInitCodeSizeLimit => "max initcode size exceeded",
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            "write protection"
        }
        HaltReason::OutOfFunds | HaltReason::OverflowPayment => "insufficient balance for transfer",
        HaltReason::CallTooDeep => "max call depth exceeded",
        _ => "precompiled contract failed",
    }
}

fn opcode_name(code: u8) -> String {
    OpCode::new(code).map_or_else(|| format!("opcode {code:#x} not defined"), |known| known.as_str().into())
}

fn taken(code: u8) -> usize {
    OpCode::new(code).map_or(0, |known| known.inputs().into())
}

fn given(code: u8) -> usize {
    OpCode::new(code).map_or(0, |known| known.outputs().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_faults_name_what_is_there_and_what_is_wanted() {
        let add = LastStep { opcode: 0x01, stack: 1 };
        assert_eq!(words(&HaltReason::StackUnderflow, add), "stack underflow (1 <=> 2)");
        let push = LastStep { opcode: 0x60, stack: 1024 };
        assert_eq!(words(&HaltReason::StackOverflow, push), "stack limit reached 1024 (1023)");
    }

    #[test]
    fn an_unknown_opcode_is_shown_as_a_number() {
        let step = LastStep { opcode: 0x0c, stack: 0 };
        assert_eq!(words(&HaltReason::OpcodeNotFound, step), "invalid opcode: opcode 0xc not defined");
    }
}
