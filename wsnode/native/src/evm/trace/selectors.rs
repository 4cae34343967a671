//! geth's 4byteTracer: the number of calls by function selector and length of arguments.

use std::collections::BTreeMap;

use alloy_primitives::{hex, Address};
use revm::precompile::Precompiles;

use crate::json::traces;

/// Number of calls by selector and length.
#[derive(Debug, Default)]
pub struct Selectors {
    counts: BTreeMap<String, u64>,
}

impl Selectors {
    /// Count a call unless it is of a precompiled contract.
    pub fn enter_call(&mut self, to: Address, input: &[u8], precompiles: &Precompiles) {
        if let (Some(selector), false) = (input.get(..4), precompiles.contains(&to)) {
            let name = format!("{}-{}", hex::encode_prefixed(selector), input.len() - 4);
            *self.counts.entry(name).or_default() += 1;
        }
    }

    pub fn finish(&self, text: &mut Vec<u8>) {
        traces::object(text, &self.counts, |text, (name, count)| {
            traces::string(text, name);
            text.push(b':');
            traces::decimal(text, *count);
        });
    }
}
