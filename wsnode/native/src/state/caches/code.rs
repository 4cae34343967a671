//! Analysed code by hash, bounded by its bytes; analysing 24 KB takes 50 us.

use alloy_primitives::map::B256Map;
use alloy_primitives::{Bytes, B256};
use revm::bytecode::Bytecode;
use std::sync::{Mutex, PoisonError};

const LIMIT: usize = 64 << 20;

/// Cache of analysed code by hash, emptied as a whole when it exceeds 64 MiB.
#[derive(Debug, Default)]
pub(in crate::state) struct CodeCache(Mutex<CachedCodes>);

#[derive(Debug, Default)]
struct CachedCodes {
    code: B256Map<Bytecode>,
    bytes: usize,
}

impl CodeCache {
    /// Return the analysed code with `hash`; `read` supplies its bytes if it is not cached.
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
            *held = CachedCodes::default();
        }
        held.bytes += code.len();
        held.code.insert(hash, code.clone());
        Ok(code)
    }

    fn held(&self) -> std::sync::MutexGuard<'_, CachedCodes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Convert bytes of code to revm's form, with the valid jump destinations.
///
/// Old chains may hold code with the prefix of a delegation (EIP-7702) but another length; such code counts
/// as plain code.
pub(in crate::state) fn analyse(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
}
