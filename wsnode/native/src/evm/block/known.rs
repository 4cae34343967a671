//! Cache of the senders of transactions that were seen before their block.

use std::mem;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use alloy_consensus::TxEnvelope;
use alloy_primitives::map::B256Map;
use alloy_primitives::Address;

/// Bound of senders in each of the two generations, which take some 2 MiB together.
const LIMIT: usize = 16_384;

/// Senders by transaction hash. A signed transaction has the same sender on every chain.
static SENDERS: LazyLock<Mutex<SenderCache>> = LazyLock::new(Mutex::default);

/// Two generations of senders. When the young generation is full, it becomes the old one, and the entries of
/// the old one are dropped.
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

/// Keep the sender of a verified signature, so that a block with the transaction is decoded sooner.
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
