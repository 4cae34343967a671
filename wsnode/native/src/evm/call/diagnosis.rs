//! The instruction at which a run ended: revm does not keep it, so the run is done again with eyes on it.

use alloy_primitives::U256;
use revm::inspector::Inspector;
use revm::interpreter::interpreter_types::Jumps;
use revm::interpreter::interpreter_types::StackTr;
use revm::interpreter::{Interpreter, InterpreterTypes};

/// The last instruction that was begun, and the stack before it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastStep {
    pub opcode: u8,
    pub stack: usize,
    /// The item below the top: how many bytes an instruction that ends a run returns.
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
