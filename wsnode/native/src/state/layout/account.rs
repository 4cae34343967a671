//! Account without its storage, and the encoding of its row.

use crate::state::StateError;
use crate::trie::AccountUpdate;
use alloy_primitives::{B256, U256};
use alloy_trie::KECCAK_EMPTY;
use revm::state::AccountInfo;

/// Account without its storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub nonce: u64,
    pub balance: U256,
    pub code_hash: B256,
}

/// Flag of a row's first byte: a code hash follows. The other bits are the number of bytes of the nonce.
const HAS_CODE: u8 = 0x80;

impl Account {
    /// Append the account's row: first byte, nonce, balance, and the code hash if there is code; numbers
    /// without leading zeros.
    pub(in crate::state) fn encode(&self, row: &mut Vec<u8>) {
        let nonce = self.nonce.to_be_bytes();
        let nonce = &nonce[self.nonce.leading_zeros() as usize / 8..];
        let has_code = self.code_hash != KECCAK_EMPTY;
        row.push(nonce.len() as u8 | if has_code { HAS_CODE } else { 0 });
        row.extend_from_slice(nonce);
        encode_value(&self.balance, row);
        if has_code {
            row.extend_from_slice(self.code_hash.as_slice());
        }
    }

    /// Decode an account's row; an empty row is a removed account, None.
    pub(in crate::state) fn decode(row: &[u8]) -> Result<Option<Self>, StateError> {
        let Some((first, rest)) = row.split_first() else {
            return Ok(None);
        };
        let corrupt = || StateError::Corrupt(format!("account row of {} bytes", row.len()));
        let nonce_length = usize::from(first & !HAS_CODE);
        let (nonce, rest) = rest.split_at_checked(nonce_length).ok_or_else(corrupt)?;
        let code_length = if first & HAS_CODE != 0 { 32 } else { 0 };
        let balance_length = rest.len().checked_sub(code_length).ok_or_else(corrupt)?;
        let (balance, code_hash) = rest.split_at(balance_length);
        Ok(Some(Self {
            nonce: U256::try_from_be_slice(nonce)
                .and_then(|nonce| nonce.try_into().ok())
                .ok_or_else(corrupt)?,
            balance: U256::try_from_be_slice(balance).ok_or_else(corrupt)?,
            code_hash: if code_length == 0 { KECCAK_EMPTY } else { B256::from_slice(code_hash) },
        }))
    }

    /// Convert an account, None if it is removed, to an update of the trie.
    pub(in crate::state) fn update(account: Option<Self>) -> AccountUpdate {
        let set = |Self { nonce, balance, code_hash }| AccountUpdate::Set { nonce, balance, code_hash };
        account.map_or(AccountUpdate::Removed, set)
    }
}

/// Append `value` big-endian without leading zeros.
pub fn encode_value(value: &U256, row: &mut Vec<u8>) {
    let bytes = value.to_be_bytes::<32>();
    row.extend_from_slice(&bytes[value.leading_zeros() / 8..]);
}

/// Decode a slot's value from its big-endian bytes; fail with `Corrupt` beyond 32 bytes.
pub fn decode_value(row: &[u8]) -> Result<U256, StateError> {
    U256::try_from_be_slice(row)
        .ok_or_else(|| StateError::Corrupt(format!("storage row of {} bytes", row.len())))
}

impl From<&AccountInfo> for Account {
    fn from(info: &AccountInfo) -> Self {
        let code_hash = if info.code_hash.is_zero() { KECCAK_EMPTY } else { info.code_hash };
        Self { nonce: info.nonce, balance: info.balance, code_hash }
    }
}

impl From<Account> for AccountInfo {
    fn from(account: Account) -> Self {
        let Account { nonce, balance, code_hash } = account;
        // With its default for `code`, revm would take the account's code to be empty.
        Self { nonce, balance, code_hash, code: None, ..Self::default() }
    }
}
