//! Receipts of a row in the form to which the block's receipts root commits.

use alloy_primitives::{Bytes, Log, B256};
use alloy_rlp::{Encodable, Header};

use super::receipts::{ReceiptOutcome, ReceiptRow, ReceiptsRow};
use super::{LogRow, RowError};

impl ReceiptsRow<'_> {
    /// Return the typed envelopes of the receipts; `kinds` has the type of each receipt's transaction.
    pub fn envelopes(&self, kinds: impl ExactSizeIterator<Item = u8>) -> Result<Vec<Vec<u8>>, RowError> {
        if kinds.len() != self.receipt_count() {
            return Err(RowError::Corrupt("another number of receipts than of transactions"));
        }
        let mut logs = 0;
        let envelope = |(index, kind)| {
            let receipt = self.receipt(index)?.ok_or(RowError::Corrupt("a receipt is not there"))?;
            // The row repeats the number of logs before each receipt. No root commits to these numbers, so
            // they are checked here.
            if receipt.first_log != logs || receipt.end_log < logs {
                return Err(RowError::Corrupt("the logs before a receipt"));
            }
            logs = receipt.end_log;
            self.envelope(index, kind, &receipt)
        };
        kinds.enumerate().map(envelope).collect()
    }

    fn envelope(&self, index: usize, kind: u8, receipt: &ReceiptRow<'_>) -> Result<Vec<u8>, RowError> {
        let mut payload = Vec::with_capacity(512);
        match receipt.outcome {
            ReceiptOutcome::Success => true.encode(&mut payload),
            ReceiptOutcome::Failure => false.encode(&mut payload),
            ReceiptOutcome::StateRoot(root) => root.encode(&mut payload),
        }
        receipt.cumulative_gas_used.encode(&mut payload);
        receipt.bloom.bloom().encode(&mut payload);
        let logs = (receipt.first_log..receipt.end_log)
            .map(|number| match self.log(number)? {
                Some(row) if row.transaction_index == index => Ok(log(row)),
                Some(_) => Err(RowError::Corrupt("the transaction of a log")),
                None => Err(RowError::Corrupt("a log is not there")),
            })
            .collect::<Result<Vec<_>, _>>()?;
        alloy_rlp::encode_list(&logs, &mut payload);
        if let Some(deposit) = receipt.deposit {
            deposit.nonce.encode(&mut payload);
            deposit.version.encode(&mut payload);
        }
        let mut envelope = if kind == 0 { Vec::with_capacity(payload.len() + 4) } else { vec![kind] };
        Header { list: true, payload_length: payload.len() }.encode(&mut envelope);
        envelope.extend_from_slice(&payload);
        Ok(envelope)
    }
}

fn log(row: LogRow<'_>) -> Log {
    let topics = row.topics.as_chunks().0.iter().map(|topic: &[u8; 32]| B256::from(*topic)).collect();
    Log::new_unchecked(*row.address, topics, Bytes::copy_from_slice(row.data))
}
