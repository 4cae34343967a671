//! Senders of transactions that were met before they came in a block.

use std::mem;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use alloy_consensus::TxEnvelope;
use alloy_primitives::map::B256Map;
use alloy_primitives::Address;

/// In each of two generations: some 2 MiB together.
const LIMIT: usize = 16_384;

/// A signed transaction has one sender, whatever chain it is on.
static SENDERS: LazyLock<Mutex<SenderCache>> = LazyLock::new(Mutex::default);

/// The younger half, and the one that goes when that is full.
#[derive(Debug, Default)]
struct SenderCache {
    young: B256Map<Address>,
    old: B256Map<Address>,
}

impl SenderCache {
    fn note(&mut self, transaction: &TxEnvelope, sender: Address) {
        if self.young.len() >= LIMIT {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(*transaction.tx_hash(), sender);
    }

    fn get(&self, transaction: &TxEnvelope) -> Option<Address> {
        let hash = transaction.tx_hash();
        self.young.get(hash).or_else(|| self.old.get(hash)).copied()
    }
}

/// Remember the sender that a transaction's signature has shown: a block that holds it is read sooner.
pub fn note_sender(transaction: &TxEnvelope, sender: Address) {
    held().note(transaction, sender);
}

pub(super) fn known_sender(transaction: &TxEnvelope) -> Option<Address> {
    held().get(transaction)
}

fn held() -> MutexGuard<'static, SenderCache> {
    SENDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use alloy_consensus::{SignableTransaction, TxLegacy};
    use alloy_primitives::Signature;

    use super::*;

    fn transaction(nonce: u64) -> TxEnvelope {
        TxLegacy { nonce, ..TxLegacy::default() }.into_signed(Signature::test_signature()).into()
    }

    #[test]
    fn the_senders_noted_last_are_kept_and_no_more() {
        let (mut senders, sender) = (SenderCache::default(), Address::repeat_byte(7));
        let all: Vec<TxEnvelope> = (0..3 * LIMIT as u64).map(transaction).collect();
        for each in &all {
            senders.note(each, sender);
        }
        assert_eq!(senders.young.len() + senders.old.len(), 2 * LIMIT);
        assert!(all[..LIMIT].iter().all(|each| senders.get(each).is_none()));
        assert!(all[LIMIT..].iter().all(|each| senders.get(each) == Some(sender)));
    }
}
