//! `UnverifiedBlock`, `VerifiedBlock` and `Execution`.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bindings::errors::invalid_block;
use crate::bindings::numbers::Number;
use crate::chain::rows::Transaction;
use crate::error::InvalidBlock;
use crate::evm::block;

/// Define the getters that both classes of blocks have, and the further methods of `$class`.
macro_rules! block_methods {
    ($class:ident { $($own:tt)* }) => {
        #[pymethods]
        impl $class {
            #[getter]
            fn number(&self) -> u64 {
                self.0.header.number
            }

            #[getter]
            fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.0.hash.as_slice())
            }

            #[getter]
            fn parent_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.0.header.parent_hash.as_slice())
            }

            #[getter]
            fn difficulty(&self) -> Number {
                Number(self.0.header.difficulty)
            }

            #[getter]
            fn timestamp(&self) -> u64 {
                self.0.header.timestamp
            }

            #[getter]
            fn gas_used(&self) -> u64 {
                self.0.header.gas_used
            }

            #[getter]
            fn header<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.header_row)
            }

            #[getter]
            fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.body_row)
            }

            $($own)*
        }
    };
}

/// Block with a valid encoding and known senders.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct UnverifiedBlock(pub Arc<block::UnverifiedBlock>);

block_methods! { UnverifiedBlock {
    #[getter]
    fn transaction_count(&self) -> usize {
        self.0.transactions.len()
    }

    #[getter]
    fn blob_hashes<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let signed = self.0.transactions.iter().filter_map(Transaction::signed);
        let hashes = signed.filter_map(|transaction| transaction.blob_versioned_hashes());
        hashes.flatten().map(|hash| PyBytes::new(py, hash.as_slice())).collect()
    }

    #[getter]
    fn access_list_hash<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.header.block_access_list_hash.map(|hash| PyBytes::new(py, hash.as_slice()))
    }

    #[getter]
    fn has_own_body(&self) -> bool {
        self.0.has_own_body()
    }
} }

/// Block that keeps every rule.
#[pyclass(frozen, subclass, module = "wsnode._native.evm")]
pub struct VerifiedBlock(pub Arc<block::VerifiedBlock>);

block_methods! { VerifiedBlock {
    #[getter]
    fn transaction_count(&self) -> usize {
        self.0.transaction_count
    }

    #[getter]
    fn log_count(&self) -> usize {
        self.0.log_count
    }

    #[getter]
    fn receipts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.receipts_row)
    }

    #[getter]
    fn access_list<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.access_list.as_ref().map(|list| PyBytes::new(py, list))
    }
} }

/// Blocks that were verified, and the violation of the block after them, if any.
#[pyclass(frozen, module = "wsnode._native.evm")]
pub struct Execution {
    verified: Vec<Arc<block::VerifiedBlock>>,
    error: Option<InvalidBlock>,
}

impl From<crate::evm::execute::Execution> for Execution {
    fn from(execution: crate::evm::execute::Execution) -> Self {
        let verified = execution.verified.into_iter().map(Arc::new).collect();
        Self { verified, error: execution.error }
    }
}

#[pymethods]
impl Execution {
    #[getter]
    fn verified(&self) -> Vec<VerifiedBlock> {
        self.verified.iter().map(|block| VerifiedBlock(block.clone())).collect()
    }

    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.error.as_ref().map(|invalid| exception(py, invalid))
    }
}

/// Return the exception object for an invalid block, not raised.
pub fn exception(py: Python<'_>, invalid: &InvalidBlock) -> Py<PyAny> {
    invalid_block(invalid).into_value(py).into_any()
}

register! {
    classes: UnverifiedBlock, VerifiedBlock, Execution;
}
