//! The receipts in a row, as values.

use alloy_consensus::{Eip658Value, Receipt, ReceiptEnvelope, ReceiptWithBloom, TxType};
use alloy_primitives::{Bytes, Log, B256};

use super::receipts::{Outcome, ReceiptsRow};
use super::{LogRow, RowError};

impl ReceiptsRow<'_> {
    /// The receipts of transactions of these types, one each.
    pub fn values(
        &self,
        types: impl ExactSizeIterator<Item = TxType>,
    ) -> Result<Vec<ReceiptEnvelope>, RowError> {
        if types.len() != self.receipt_count() {
            return Err(RowError::Corrupt("another number of receipts than of transactions"));
        }
        types.enumerate().map(|(index, kind)| self.value(index, kind)).collect()
    }

    fn value(&self, index: usize, kind: TxType) -> Result<ReceiptEnvelope, RowError> {
        let row = self.receipt(index)?.ok_or(RowError::Corrupt("a receipt is not there"))?;
        let status = match row.outcome {
            Outcome::Success => Eip658Value::Eip658(true),
            Outcome::Failure => Eip658Value::Eip658(false),
            Outcome::StateRoot(root) => Eip658Value::PostState(*root),
        };
        let logs = (row.first_log..row.end_log)
            .map(|number| self.log(number)?.map(log).ok_or(RowError::Corrupt("a log is not there")))
            .collect::<Result<_, _>>()?;
        let receipt = Receipt { status, cumulative_gas_used: row.cumulative_gas_used, logs };
        let receipt = ReceiptWithBloom { receipt, logs_bloom: row.bloom.bloom() };
        Ok(match kind {
            TxType::Legacy => ReceiptEnvelope::Legacy(receipt),
            TxType::Eip2930 => ReceiptEnvelope::Eip2930(receipt),
            TxType::Eip1559 => ReceiptEnvelope::Eip1559(receipt),
            TxType::Eip4844 => ReceiptEnvelope::Eip4844(receipt),
            TxType::Eip7702 => ReceiptEnvelope::Eip7702(receipt),
        })
    }
}

fn log(row: LogRow<'_>) -> Log {
    let topics = row.topics.as_chunks().0.iter().map(|topic: &[u8; 32]| B256::from(*topic)).collect();
    Log::new_unchecked(*row.address, topics, Bytes::copy_from_slice(row.data))
}
