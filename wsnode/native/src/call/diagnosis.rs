//! The instruction at which a run ended: revm does not keep it, so the run is done again with eyes on it.

use revm::inspector::Inspector;
use revm::interpreter::interpreter_types::Jumps;
use revm::interpreter::interpreter_types::StackTr;
use revm::interpreter::{Interpreter, InterpreterTypes};

/// The last instruction that was begun, and the items on the stack before it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastStep {
    pub opcode: u8,
    pub stack: usize,
}

impl<C, W: InterpreterTypes> Inspector<C, W> for LastStep {
    fn step(&mut self, interpreter: &mut Interpreter<W>, _context: &mut C) {
        self.opcode = interpreter.bytecode.opcode();
        self.stack = interpreter.stack.len();
    }
}
