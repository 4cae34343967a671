//! Signatures for development chains.

use alloy_primitives::{Bytes, TxKind, U256};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::messages::json;
use crate::bindings::errors::guard;
use crate::bindings::numbers::{address, hash, Number};
use crate::evm::block;
use crate::evm::sign::{self, Draft, OfferedPrice};

#[pyfunction]
#[pyo3(signature = (
    secret, *, chain_id, nonce, to, value, input, gas, max_fee=None, max_priority_fee=None, gas_price=None,
    access_list=None, authorizations=None
))]
#[expect(clippy::too_many_arguments, reason = "a transaction has as many members")]
fn sign_transaction<'py>(
    py: Python<'py>,
    secret: &[u8],
    chain_id: u64,
    nonce: u64,
    to: Option<&[u8]>,
    value: Number,
    input: &[u8],
    gas: u64,
    max_fee: Option<u128>,
    max_priority_fee: Option<u128>,
    gas_price: Option<u128>,
    access_list: Option<&[u8]>,
    authorizations: Option<&[u8]>,
) -> PyResult<Bound<'py, PyBytes>> {
    let price = price(max_fee, max_priority_fee, gas_price)?;
    let lists = (access_list, authorizations);
    let draft = draft(chain_id, nonce, to, (value.0, input), (gas, price), lists)?;
    let secret = hash("secret", secret)?;
    guard(|| sign::sign(secret, draft)).map(|bytes| PyBytes::new(py, &bytes))
}

#[pyfunction]
#[pyo3(signature = (
    sender, *, chain_id, nonce, to, value, input, gas, max_fee=None, max_priority_fee=None, gas_price=None,
    access_list=None, authorizations=None
))]
#[expect(clippy::too_many_arguments, reason = "a transaction has as many members")]
fn unsigned_transaction<'py>(
    py: Python<'py>,
    sender: &[u8],
    chain_id: u64,
    nonce: u64,
    to: Option<&[u8]>,
    value: Number,
    input: &[u8],
    gas: u64,
    max_fee: Option<u128>,
    max_priority_fee: Option<u128>,
    gas_price: Option<u128>,
    access_list: Option<&[u8]>,
    authorizations: Option<&[u8]>,
) -> PyResult<Bound<'py, PyBytes>> {
    let price = price(max_fee, max_priority_fee, gas_price)?;
    let lists = (access_list, authorizations);
    let draft = draft(chain_id, nonce, to, (value.0, input), (gas, price), lists)?;
    let sender = address("sender", sender)?;
    guard(|| sign::impersonate(sender, draft)).map(|bytes| PyBytes::new(py, &bytes))
}

#[pyfunction]
fn impersonated_sender<'py>(py: Python<'py>, encoded: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let named = guard(|| {
        let transaction =
            block::decode_transaction(encoded).map_err(|violation| violation.in_block(None, None))?;
        Ok(block::impersonated_sender(transaction.signature()))
    })?;
    Ok(named.map(|sender| PyBytes::new(py, sender.as_slice())))
}

fn price(
    max_fee: Option<u128>,
    max_priority_fee: Option<u128>,
    gas_price: Option<u128>,
) -> PyResult<OfferedPrice> {
    match (max_fee, max_priority_fee, gas_price) {
        (None, None, Some(price)) => Ok(OfferedPrice::Fixed(price)),
        (Some(max_fee), Some(max_priority_fee), None) => {
            Ok(OfferedPrice::Dynamic { max_fee, max_priority_fee })
        }
        _ => Err(PyValueError::new_err("give gas_price, or max_fee and max_priority_fee")),
    }
}

type Lists<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

fn draft(
    chain_id: u64,
    nonce: u64,
    to: Option<&[u8]>,
    (value, input): (U256, &[u8]),
    (gas, price): (u64, OfferedPrice),
    (access_list, authorizations): Lists<'_>,
) -> PyResult<Draft> {
    Ok(Draft {
        chain_id,
        nonce,
        to: to.map_or(Ok(TxKind::Create), |to| address("to", to).map(TxKind::Call))?,
        value,
        input: Bytes::copy_from_slice(input),
        gas,
        price,
        access_list: access_list.map(|text| json("access_list", text)).transpose()?,
        authorizations: authorizations.map(|text| json("authorizations", text)).transpose()?,
    })
}

#[pyfunction]
fn sign_message<'py>(py: Python<'py>, secret: &[u8], message: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let secret = hash("secret", secret)?;
    guard(|| sign::sign_message(secret, message)).map(|bytes| PyBytes::new(py, &bytes))
}

#[pyfunction]
fn sign_digest<'py>(py: Python<'py>, secret: &[u8], digest: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let (secret, digest) = (hash("secret", secret)?, hash("digest", digest)?);
    guard(|| sign::sign_digest(secret, digest)).map(|bytes| PyBytes::new(py, &bytes))
}

#[pyfunction]
fn public_key_of<'py>(py: Python<'py>, secret: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let secret = hash("secret", secret)?;
    guard(|| sign::public_key_of(secret)).map(|found| PyBytes::new(py, &found))
}

#[pyfunction]
fn address_of<'py>(py: Python<'py>, secret: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let secret = hash("secret", secret)?;
    guard(|| sign::address_of(secret)).map(|found| PyBytes::new(py, found.as_slice()))
}

register! {
    functions: sign_transaction, unsigned_transaction, impersonated_sender, sign_message, sign_digest,
        public_key_of, address_of;
}
