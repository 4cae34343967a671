//! Members of an account as JSON.

use alloy_primitives::{Address, U256};

use crate::error::Error;
use crate::json::Writer;
use crate::state::HistoryView;

pub fn write_balance(view: &HistoryView<'_>, address: Address, text: &mut Writer) -> Result<(), Error> {
    let balance = view.account(address)?.map_or(U256::ZERO, |account| account.balance);
    quantity(text, &balance);
    Ok(())
}

pub fn write_transaction_count(
    view: &HistoryView<'_>,
    address: Address,
    text: &mut Writer,
) -> Result<(), Error> {
    let nonce = view.account(address)?.map_or(0, |account| account.nonce);
    quantity(text, &U256::from(nonce));
    Ok(())
}

pub fn write_code(view: &HistoryView<'_>, address: Address, text: &mut Writer) -> Result<(), Error> {
    let code = match view.account(address)? {
        Some(account) => view.code(account.code_hash)?,
        None => <_>::default(),
    };
    text.quoted_bytes(&code);
    Ok(())
}

pub fn write_storage(
    view: &HistoryView<'_>,
    (address, slot): (Address, U256),
    text: &mut Writer,
) -> Result<(), Error> {
    text.quoted_bytes(&view.storage(address, slot)?.to_be_bytes::<32>());
    Ok(())
}

fn quantity(text: &mut Writer, number: &U256) {
    text.fixed(b"\"0x");
    text.big_quantity(&number.to_be_bytes::<32>());
    text.fixed(b"\"");
}
