//! Last instruction of a run. revm does not keep it, so that the run is repeated under an inspector.

use alloy_primitives::U256;
use revm::inspector::Inspector;
use revm::interpreter::interpreter_types::Jumps;
use revm::interpreter::interpreter_types::StackTr;
use revm::interpreter::{Interpreter, InterpreterTypes};

/// Last instruction that began, and the stack before it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastStep {
    pub opcode: u8,
    pub stack: usize,
    /// Item below the top of the stack. For RETURN and REVERT it is the length of the output.
    pub second: U256,
}

impl<C, W: InterpreterTypes> Inspector<C, W> for LastStep {
    fn step(&mut self, interpreter: &mut Interpreter<W>, _context: &mut C) {
        self.opcode = interpreter.bytecode.opcode();
        let items = interpreter.stack.data();
        self.stack = items.len();
        self.second = items.iter().rev().nth(1).copied().unwrap_or_default();
    }
}
