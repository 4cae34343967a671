//! Analysed code by hash, bounded by its bytes; analysing 24 KB takes 50 us.

use alloy_primitives::map::B256Map;
use alloy_primitives::{Bytes, B256};
use revm::bytecode::Bytecode;
use std::sync::{Mutex, PoisonError};

const LIMIT: usize = 64 << 20;

/// Code that was read lately.
#[derive(Debug, Default)]
pub(in crate::state) struct CodeCache(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    code: B256Map<Bytecode>,
    bytes: usize,
}

impl CodeCache {
    /// The code `hash`, read by `read` when it is not held.
    pub(in crate::state) fn get<E>(
        &self,
        hash: B256,
        read: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytecode, E> {
        if let Some(code) = self.held().code.get(&hash) {
            return Ok(code.clone());
        }
        let code = analyse(read()?);
        let mut held = self.held();
        if held.bytes > LIMIT {
            *held = Held::default();
        }
        held.bytes += code.len();
        held.code.insert(hash, code.clone());
        Ok(code)
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Old chains may hold code that begins like a delegation and is none.
pub(in crate::state) fn analyse(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
}
