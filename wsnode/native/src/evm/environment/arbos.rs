//! Effects of ArbOS on the EVM on Arbitrum: members of the environment from a header, and the accounts that
//! only ArbOS executes.
//!
//! This crate does not execute Arbitrum's precompiled contracts and Stylus programs, nor does it know the
//! hashes of L1 blocks.
//!
//! Source: Offchain Labs' go-ethereum, core/types/arb_types.go (HeaderInfo) and params/config.go (forks by
//! versions of ArbOS).

use std::collections::HashMap;

use alloy_consensus::Header;
use alloy_primitives::{address, Address, Bytes, B256};
use revm::primitives::hardfork::SpecId;
use revm::state::AccountInfo;

use crate::evm::chain_spec::{ChainSpec, Family};
use crate::state::StateError;

/// Version of ArbOS from which on Osaka's rules are in force.
const OSAKA: u64 = 50;

/// Return the block number of L1 in an Arbitrum header, which the opcode NUMBER gives.
pub fn l1_block_number(header: &Header) -> u64 {
    word(header, 1)
}

/// Return the name of the Ethereum fork whose EVM rules are in force.
pub fn fork_name(header: &Header) -> &'static str {
    match rules(header) {
        SpecId::OSAKA => "osaka",
        _ => "prague",
    }
}

/// Return the rules of the EVM by the header's version of ArbOS: Prague's, or Osaka's from `OSAKA` on.
pub fn rules(header: &Header) -> SpecId {
    match word(header, 2) >= OSAKA {
        true => SpecId::OSAKA,
        false => SpecId::PRAGUE,
    }
}

fn word(header: &Header, place: usize) -> u64 {
    u64::from_be_bytes(header.mix_hash.0.as_chunks().0[place])
}

/// Precompiled contracts of Arbitrum: last byte of the address, and name (nitro, precompiles/precompile.go).
/// 0x67, 0x69 and 0x6a have no name there.
const CONTRACTS: [(u8, &str); 18] = [
    (0x64, "ArbSys"),
    (0x65, "ArbInfo"),
    (0x66, "ArbAddressTable"),
    (0x67, "ArbBLS"),
    (0x68, "ArbFunctionTable"),
    (0x69, "ArbosTest"),
    (0x6a, "ArbOS"),
    (0x6b, "ArbOwnerPublic"),
    (0x6c, "ArbGasInfo"),
    (0x6d, "ArbAggregator"),
    (0x6e, "ArbRetryableTx"),
    (0x6f, "ArbStatistics"),
    (0x70, "ArbOwner"),
    (0x71, "ArbWasm"),
    (0x72, "ArbWasmCache"),
    (0x73, "ArbNativeTokenManager"),
    (0xc8, "NodeInterface"),
    (0xff, "ArbDebug"),
];
/// Precompiled contract of Ethereum from Osaka on, and of Arbitrum from ArbOS 30 on.
const P256_VERIFY: Address = address!("0000000000000000000000000000000000000100");
/// First bytes of a Stylus program.
const STYLUS: [u8; 3] = [0xef, 0xf0, 0x00];
/// Account of ArbOS's state, with the hashes of L1 blocks.
const STATE: Address = address!("a4b05fffffffffffffffffffffffffffffffffff");

/// Check of the accounts, code and block hashes that a run on Arbitrum reads.
#[derive(Debug)]
pub struct ArbosWatch {
    has_p256: bool,
    /// True if block numbers in the EVM are those of L1, so that block hashes are too.
    has_l1_numbers: bool,
    /// Account that was read last, by code hash.
    codes: HashMap<B256, Address>,
}

impl ArbosWatch {
    /// Return the check for a run by `rules`, or None on a chain without ArbOS.
    pub fn of(spec: &ChainSpec, rules: SpecId) -> Option<Self> {
        spec.has_arbos().then(|| Self {
            has_p256: rules.is_enabled_in(SpecId::OSAKA),
            has_l1_numbers: spec.family() == Family::Arbitrum,
            codes: HashMap::default(),
        })
    }

    /// Refuse an account that only ArbOS executes.
    pub fn check_account(&self, address: Address) -> Result<(), StateError> {
        let [zeros @ .., last] = address.0 .0;
        let is_p256 = address == P256_VERIFY && !self.has_p256;
        let name = match CONTRACTS.iter().find(|(number, _)| *number == last && zeros == [0; 19]) {
            Some((_, name)) => name,
            None if is_p256 => "P256VERIFY",
            None => return Ok(()),
        };
        Err(StateError::NotExecuted { address, name, kind: "precompile" })
    }

    /// Record the account's code hash, because its code may be read next by the hash alone. Refuse a Stylus
    /// program.
    pub fn note_account(
        &mut self,
        address: Address,
        account: Option<&AccountInfo>,
    ) -> Result<(), StateError> {
        let Some(account) = account.filter(|account| !account.is_empty_code_hash()) else { return Ok(()) };
        self.codes.insert(account.code_hash, address);
        match &account.code {
            Some(code) => self.check_code(account.code_hash, &code.original_bytes()),
            None => Ok(()),
        }
    }

    /// Refuse code that is a Stylus program.
    pub fn check_code(&self, hash: B256, code: &Bytes) -> Result<(), StateError> {
        if !code.starts_with(&STYLUS) {
            return Ok(());
        }
        let address = self.codes.get(&hash).copied().unwrap_or_default();
        Err(StateError::NotExecuted { address, name: "Stylus", kind: "stylus" })
    }

    /// Refuse a block hash if block numbers are those of L1.
    pub fn check_hash(&self) -> Result<(), StateError> {
        match self.has_l1_numbers {
            true => Err(StateError::NotExecuted { address: STATE, name: "BLOCKHASH", kind: "blockhash" }),
            false => Ok(()),
        }
    }
}
