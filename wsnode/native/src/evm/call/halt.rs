//! Reasons why a run halted, in geth's words.

use revm::bytecode::opcode::OpCode;
use revm::context_interface::result::{HaltReason, OutOfGasError};
use revm::interpreter::{InstructionResult, SuccessOrHalt};
use revm::precompile::PrecompileHalt;

use super::diagnosis::LastStep;
use super::opcode_name::opcode_name;

const STACK_LIMIT: usize = 1024;
const RETURN: u8 = 0xf3;
const MAXIMUM_CODE: usize = 24_576;

/// Return whether the text for `reason` depends on the last instruction.
pub fn needs_last_step(reason: &HaltReason, is_create: bool) -> bool {
    match reason {
        HaltReason::OutOfGas(OutOfGasError::Basic) => is_create,
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => true,
        HaltReason::StackUnderflow | HaltReason::StackOverflow => true,
        HaltReason::CreateContractSizeLimit => true,
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
        HaltReason::StackUnderflow | HaltReason::StackOverflow => stack_fault(last),
        HaltReason::CreateContractSizeLimit => {
            format!("max code size exceeded: code size {} limit {MAXIMUM_CODE}", last.second)
        }
        HaltReason::PrecompileErrorWithContext(words) => words.clone(),
        other => plain(other).into(),
    }
}

/// Return the text for a stack that is too short or too long. revm reports a DUP on a short stack as an
/// overflow.
fn stack_fault(last: LastStep) -> String {
    let (stack, taken) = (last.stack, taken(last.opcode));
    if stack < taken {
        return format!("stack underflow ({stack} <=> {taken})");
    }
    let room = (STACK_LIMIT + taken).saturating_sub(given(last.opcode));
    format!("stack limit reached {stack} ({room})")
}

/// Return the text for the fault that ended a frame or an instruction.
pub fn fault_words(result: InstructionResult, last: LastStep) -> String {
    match SuccessOrHalt::<HaltReason>::from(result) {
        SuccessOrHalt::Halt(reason) => words(&reason, last),
        _ => "execution reverted".into(),
    }
}

fn out_of_gas(error: &OutOfGasError, last: LastStep) -> &'static str {
    match error {
        OutOfGasError::InvalidOperand => "gas uint64 overflow",
        OutOfGasError::ReentrancySentry => "out of gas: not enough gas for reentrancy sentry",
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

/// Return the text for a failed precompiled contract.
pub fn precompile_words(reason: &PrecompileHalt) -> &'static str {
    use PrecompileHalt as Reason;
    match reason {
        Reason::ModexpEip7823LimitSize => "one or more of base/exponent/modulus length exceeded 1024 bytes",
        Reason::Bn254FieldPointNotAMember | Reason::NonCanonicalFp => "invalid fp.Element encoding",
        Reason::Bn254AffineGFailedToCreate => "point is not on curve",
        Reason::Bn254PairLength => "bad elliptic curve pairing size",
        Reason::Blake2WrongFinalIndicatorFlag => "invalid final flag",
        Reason::BlobMismatchedVersion => "mismatched versioned hash",
        Reason::BlobVerifyKzgProofFailed => "error verifying kzg proof",
        Reason::Bls12381G1NotOnCurve | Reason::Bls12381G2NotOnCurve => "invalid point: not on curve",
        Reason::Bls12381G1NotInSubgroup => "g1 point is not on correct subgroup",
        Reason::Bls12381G2NotInSubgroup => "g2 point is not on correct subgroup",
        Reason::Bls12381FpPaddingInvalid => "invalid field element top bytes",
        Reason::Blake2WrongLength
        | Reason::BlobInvalidInputLength
        | Reason::Bls12381ScalarInputLength
        | Reason::Bls12381G1AddInputLength
        | Reason::Bls12381G1MsmInputLength
        | Reason::Bls12381G2AddInputLength
        | Reason::Bls12381G2MsmInputLength
        | Reason::Bls12381PairingInputLength
        | Reason::Bls12381MapFpToG1InputLength
        | Reason::Bls12381MapFp2ToG2InputLength
        | Reason::Bls12381FpPaddingLength
        | Reason::Bls12381G1PaddingLength
        | Reason::Bls12381G2PaddingLength
        | Reason::KzgInvalidInputLength => "invalid input length",
        _ => "precompiled contract failed",
    }
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
        let add = LastStep { opcode: 0x01, stack: 1, ..LastStep::default() };
        assert_eq!(words(&HaltReason::StackUnderflow, add), "stack underflow (1 <=> 2)");
        let push = LastStep { opcode: 0x60, stack: 1024, ..LastStep::default() };
        assert_eq!(words(&HaltReason::StackOverflow, push), "stack limit reached 1024 (1023)");
        let duplicate = LastStep { opcode: 0x8c, ..LastStep::default() };
        assert_eq!(words(&HaltReason::StackOverflow, duplicate), "stack underflow (0 <=> 13)");
    }

    #[test]
    fn an_unknown_opcode_is_shown_as_a_number() {
        let step = LastStep { opcode: 0x0c, ..LastStep::default() };
        assert_eq!(words(&HaltReason::OpcodeNotFound, step), "invalid opcode: opcode 0xc not defined");
    }

    #[test]
    fn an_instruction_that_only_geth_names_has_its_name() {
        let step = LastStep { opcode: 0xee, ..LastStep::default() };
        assert_eq!(words(&HaltReason::OpcodeNotFound, step), "invalid opcode: RETURNCONTRACT");
    }
}
