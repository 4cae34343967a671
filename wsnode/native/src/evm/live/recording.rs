//! Instructions that record reads of accounts and blocks besides those of the database.
//!
//! The database below the EVM records the code and the slots that a run reads. These instructions record
//! every other read: a nonce, a balance or the existence of an account, and members of the block.

use alloy_primitives::{keccak256, Address, B256, U256};
use revm::bytecode::opcode;
use revm::interpreter::instructions::{block_info, host};
use revm::interpreter::{Instruction, InstructionExecResult};
use revm::primitives::hardfork::SpecId;

use crate::evm::call::evm::{self, operand, Ictx, Instructions};
use crate::evm::call::Read;

/// Gas that pays for any access to an account and its delegate. With less, the account may not be looked up.
const ACCESS_GAS: u64 = 6000;

/// Longest init code in bytes whose hash is computed for the address of a creation.
const MAX_CODE: usize = 1 << 20;

/// Replace the instructions of a run by those that record their reads.
pub fn install(instructions: &mut Instructions<'_, '_>) {
    let table = instructions.instruction_table_mut();
    table[opcode::BALANCE as usize] = Instruction::new(balance);
    table[opcode::SELFBALANCE as usize] = Instruction::new(selfbalance);
    table[opcode::EXTCODEHASH as usize] = Instruction::new(extcodehash);
    table[opcode::CALL as usize] = Instruction::new(call::<{ opcode::CALL }>);
    table[opcode::CALLCODE as usize] = Instruction::new(call::<{ opcode::CALLCODE }>);
    table[opcode::DELEGATECALL as usize] = Instruction::new(call::<{ opcode::DELEGATECALL }>);
    table[opcode::STATICCALL as usize] = Instruction::new(call::<{ opcode::STATICCALL }>);
    table[opcode::EXTCODESIZE as usize] = Instruction::new(extcodesize);
    table[opcode::EXTCODECOPY as usize] = Instruction::new(extcodecopy);
    table[opcode::CREATE as usize] = Instruction::new(create::<false>);
    table[opcode::CREATE2 as usize] = Instruction::new(create::<true>);
    table[opcode::SELFDESTRUCT as usize] = Instruction::new(selfdestruct);
    table[opcode::BLOCKHASH as usize] = Instruction::new(blockhash);
    table[opcode::NUMBER as usize] = Instruction::new(number);
    table[opcode::TIMESTAMP as usize] = Instruction::new(timestamp);
    table[opcode::DIFFICULTY as usize] = Instruction::new(difficulty);
    table[opcode::BLOBBASEFEE as usize] = Instruction::new(blob_base_fee);
    table[opcode::SLOTNUM as usize] = Instruction::new(slot_number);
    table[opcode::GASLIMIT as usize] = Instruction::new(gas_limit);
    table[opcode::COINBASE as usize] = Instruction::new(coinbase);
    table[opcode::BASEFEE as usize] = Instruction::new(base_fee);
}

fn balance(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note_account(&mut context, 0);
    evm::balance(context)
}

fn selfbalance(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note_self(&mut context);
    evm::selfbalance(context)
}

fn extcodehash(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note_account(&mut context, 0);
    host::extcodehash(context)
}

fn extcodesize(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note_access(&mut context);
    host::extcodesize(context)
}

fn extcodecopy(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note_access(&mut context);
    evm::extcodecopy(context)
}

/// Record a read of the coinbase if there may be too little gas to look up the account. The coinbase is warm
/// (EIP-3651), so that the cost depends on it; with enough gas the looked-up account itself is recorded.
fn note_access(context: &mut Ictx<'_, '_, '_>) {
    if context.interpreter.gas.remaining() < ACCESS_GAS {
        note(context, Read::Coinbase);
    }
}

/// Record the caller's balance if value is sent, and the receiver's account if the price depends on its
/// existence: with a value, and before Spurious Dragon without one (EIP-161).
fn call<const KIND: u8>(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note_access(&mut context);
    let has_value = KIND == opcode::CALL || KIND == opcode::CALLCODE;
    let is_paid = has_value && !operand(&context, 2).is_zero();
    let rules = context.interpreter.runtime_flag.spec_id;
    if is_paid {
        note_self(&mut context);
    }
    if KIND == opcode::CALL && (is_paid || !rules.is_enabled_in(SpecId::SPURIOUS_DRAGON)) {
        note_account(&mut context, 1);
    }
    evm::call::<KIND>(context)
}

/// Record the creator's nonce and the account at the new address, which must not exist. Record the creator's
/// balance if value is sent.
fn create<const IS_CREATE2: bool>(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    let creator = context.interpreter.input.target_address;
    context.host.journaled_state.database.note_nonce(creator);
    if !operand(&context, 0).is_zero() {
        note_self(&mut context);
    }
    match address_of_creation::<IS_CREATE2>(&context) {
        Some(address) => note(&mut context, Read::Account(address)),
        None => {
            if let Some(reads) = &mut context.host.journaled_state.database.reads {
                reads.give_up();
            }
        }
    }
    evm::create::<IS_CREATE2>(context)
}

fn address_of_creation<const IS_CREATE2: bool>(context: &Ictx<'_, '_, '_>) -> Option<Address> {
    let creator = context.interpreter.input.target_address;
    if !IS_CREATE2 {
        let account = context.host.journaled_state.inner.state.get(&creator)?;
        return Some(creator.create(account.info.nonce));
    }
    let start = usize::try_from(operand(context, 1)).ok();
    let length = usize::try_from(operand(context, 2)).ok().filter(|length| *length <= MAX_CODE)?;
    let mut code = vec![0; length];
    let memory = &context.interpreter.memory;
    // Memory beyond its present length is zero.
    if let Some(start) = start.filter(|start| *start < memory.len()) {
        let end = start.saturating_add(length).min(memory.len());
        code[..end - start].copy_from_slice(&memory.slice_range(start..end));
    }
    Some(creator.create2(operand(context, 3).to_be_bytes::<32>(), keccak256(&code)))
}

fn selfdestruct(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note_self(&mut context);
    note_account(&mut context, 0);
    host::selfdestruct(context)
}

/// Record a read of the block, since the hash depends on the block's own number too.
fn blockhash(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note(&mut context, Read::Block);
    host::blockhash(context)
}

fn number(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note(&mut context, Read::Block);
    block_info::block_number(context)
}

fn timestamp(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note(&mut context, Read::Block);
    block_info::timestamp(context)
}

fn difficulty(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note(&mut context, Read::Block);
    block_info::difficulty(context)
}

fn blob_base_fee(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note(&mut context, Read::Block);
    block_info::blob_basefee(context)
}

fn slot_number(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note(&mut context, Read::Block);
    block_info::slot_num(context)
}

fn gas_limit(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note(&mut context, Read::GasLimit);
    block_info::gaslimit(context)
}

fn coinbase(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    note(&mut context, Read::Coinbase);
    block_info::coinbase(context)
}

/// Record a read of the base fee, unless it is 0 for a message that pays nothing.
fn base_fee(mut context: Ictx<'_, '_, '_>) -> InstructionExecResult {
    if context.host.block.basefee != 0 {
        note(&mut context, Read::BaseFee);
    }
    block_info::basefee(context)
}

fn note_self(context: &mut Ictx<'_, '_, '_>) {
    let account = context.interpreter.input.target_address;
    note(context, Read::Account(account));
}

/// Record a read of the account in the item of the stack at `depth`.
fn note_account(context: &mut Ictx<'_, '_, '_>, depth: usize) {
    let word = operand(context, depth);
    note(context, Read::Account(address_in(word)));
}

fn address_in(word: U256) -> Address {
    Address::from_word(B256::from(word))
}

fn note(context: &mut Ictx<'_, '_, '_>, read: Read) {
    if let Some(reads) = &mut context.host.journaled_state.database.reads {
        reads.note(read);
    }
}
