//! Net gas metering of SSTORE (EIP-1283), in force from Constantinople to Petersburg and unknown to revm.
//!
//! Istanbul added it again with other numbers (EIP-2200), and with a minimum of gas for a write.

use revm::bytecode::opcode;
use revm::context::CfgEnv;
use revm::context_interface::cfg::gas_params::{GasId, GasParams};
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::host::sstore_with_gas_accounting;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{Host, Instruction, InstructionContext, InstructionExecResult, InstructionResult};
use revm::primitives::hardfork::SpecId;

const NO_CHANGE: u64 = 200;
const SET: u64 = 20_000;
const RESET: u64 = 5_000;

/// Return the gas costs under net metering: Petersburg's, but for SSTORE.
pub fn gas_params() -> GasParams {
    let mut params = GasParams::new_spec(SpecId::PETERSBURG);
    params.override_gas([
        (GasId::sstore_static(), NO_CHANGE),
        (GasId::sstore_set_without_load_cost(), SET - NO_CHANGE),
        (GasId::sstore_reset_without_cold_load_cost(), RESET - NO_CHANGE),
        (GasId::sstore_set_refund(), SET - NO_CHANGE),
        (GasId::sstore_reset_refund(), RESET - NO_CHANGE),
    ]);
    params
}

/// Return whether `settings` are those of a block with net metering.
pub fn is_in_force(settings: &CfgEnv) -> bool {
    settings.spec == SpecId::PETERSBURG && settings.gas_params.sstore_static_gas() == NO_CHANGE
}

/// Replace the instruction SSTORE by the one with net metering.
pub fn install<H: Host>(instructions: &mut EthInstructions<EthInterpreter, H>) {
    instructions.instruction_table_mut()[opcode::SSTORE as usize] = Instruction::new(sstore);
}

fn sstore<H: Host + ?Sized>(context: InstructionContext<'_, H, EthInterpreter>) -> InstructionExecResult {
    sstore_with_gas_accounting(context, |context, _, stored| {
        let params = context.host.gas_params();
        let cost = params.sstore_dynamic_gas(true, &stored.data, stored.is_cold);
        let refund = params.sstore_refund(true, &stored.data);
        if !context.interpreter.gas.record_regular_cost(cost) {
            return Err(InstructionResult::OutOfGas);
        }
        context.interpreter.gas.record_refund(refund);
        Ok(())
    })
}
