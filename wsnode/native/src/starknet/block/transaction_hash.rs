//! Hashes of transactions of every kind and version (docs.starknet.io, "Transactions").
//!
//! The hash function is Pedersen up to version 2, Poseidon for version 3. Hashes of the first blocks' transactions
//! leave out version and fee.

use alloy_primitives::keccak256;
use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Pedersen, Poseidon, StarkHash};

use super::codec::{DataLayer, ResourceBound, ResourceBounds, TransactionKind, UnverifiedTransaction};
use crate::starknet::felts::{short_string, starknet_keccak};

/// Name of a required member that the transaction lacks.
pub struct MissingMember(pub &'static str);

/// Return the version, the low byte of the member; for queries the member has the bit 2^128 set too.
fn version_number(transaction: &UnverifiedTransaction) -> u8 {
    transaction.version.to_bytes_be()[31]
}

/// Return whether the fee is in fri: true for version 3, except L1_HANDLER.
pub fn pays_in_fri(transaction: &UnverifiedTransaction) -> bool {
    transaction.kind != TransactionKind::L1Handler && version_number(transaction) == 3
}

/// Hash functions of one transaction on a chain.
pub struct Hasher<'a> {
    transaction: &'a UnverifiedTransaction,
    chain_id: Felt,
}

impl<'a> Hasher<'a> {
    pub fn new(transaction: &'a UnverifiedTransaction, chain_id: Felt) -> Self {
        Self { transaction, chain_id }
    }

    /// Return the transaction's hash by the present formula of its kind and version.
    pub fn hash(&self) -> Result<Felt, MissingMember> {
        match self.transaction.kind {
            TransactionKind::L1Handler => self.l1_handler(),
            TransactionKind::Deploy => self.deploy(),
            _ if version_number(self.transaction) == 3 => self.version_3(true),
            TransactionKind::Invoke => self.invoke(),
            TransactionKind::Declare => self.declare(),
            TransactionKind::DeployAccount => self.deploy_account(),
        }
    }

    /// Return the other valid hashes of a transaction with these members: those of the first blocks' formulas, and
    /// of version 3 without a bound for L1 data gas.
    pub fn others(&self) -> Result<Vec<Felt>, MissingMember> {
        let transaction = self.transaction;
        match transaction.kind {
            TransactionKind::L1Handler => {
                let nonce = transaction.nonce.unwrap_or_default();
                Ok(vec![self.unversioned("l1_handler", Some(nonce))?, self.unversioned("invoke", None)?])
            }
            TransactionKind::Invoke if version_number(transaction) == 0 => {
                Ok(vec![self.unversioned("invoke", None)?])
            }
            TransactionKind::Deploy => Ok(vec![self.unversioned("deploy", None)?]),
            // Nodes report a third bound of zero even for a transaction with two bounds, so the hash over two
            // bounds is valid, too.
            _ if has_zero_data_bound(transaction) => Ok(vec![self.version_3(false)?]),
            _ => Ok(Vec::new()),
        }
    }

    /// Return the address of the sender; of the new contract for DEPLOY and DEPLOY_ACCOUNT, where it is computed; of
    /// the called contract for L1_HANDLER.
    pub fn address(&self) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        match transaction.kind {
            TransactionKind::Deploy | TransactionKind::DeployAccount => self.deployed_address(),
            TransactionKind::L1Handler => required(transaction.contract_address, "contract_address"),
            _ => required(transaction.sender_address.or(transaction.contract_address), "sender_address"),
        }
    }

    /// Return the Keccak-256 hash of an L1_HANDLER transaction's message from Ethereum.
    pub fn message_hash(&self) -> Result<[u8; 32], MissingMember> {
        let transaction = self.transaction;
        let calldata = list(&transaction.calldata, "calldata")?;
        let (sender, payload) = calldata.split_first().ok_or(MissingMember("calldata"))?;
        let head = [
            *sender,
            self.address()?,
            transaction.nonce.unwrap_or_default(),
            required(transaction.entry_point_selector, "entry_point_selector")?,
            Felt::from(payload.len()),
        ];
        let bytes = head.iter().chain(payload).flat_map(Felt::to_bytes_be).collect::<Vec<_>>();
        Ok(keccak256(bytes).0)
    }

    fn deployed_address(&self) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        let hash = Pedersen::hash_array(&[
            short_string("STARKNET_CONTRACT_ADDRESS"),
            Felt::ZERO, // the deployer
            required(transaction.contract_address_salt, "contract_address_salt")?,
            required(transaction.class_hash, "class_hash")?,
            Pedersen::hash_array(list(&transaction.constructor_calldata, "constructor_calldata")?),
        ]);
        Ok(below_address_bound(hash))
    }

    fn l1_handler(&self) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        let selector = required(transaction.entry_point_selector, "entry_point_selector")?;
        let calldata = Pedersen::hash_array(list(&transaction.calldata, "calldata")?);
        // The first L1_HANDLER transactions have no nonce.
        let nonce = transaction.nonce.unwrap_or_default();
        self.versioned("l1_handler", selector, calldata, Felt::ZERO, &[nonce])
    }

    fn deploy(&self) -> Result<Felt, MissingMember> {
        let calldata =
            Pedersen::hash_array(list(&self.transaction.constructor_calldata, "constructor_calldata")?);
        self.versioned("deploy", starknet_keccak(b"constructor"), calldata, Felt::ZERO, &[])
    }

    fn invoke(&self) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        let calldata = Pedersen::hash_array(list(&transaction.calldata, "calldata")?);
        let fee = required(transaction.max_fee, "max_fee")?;
        if version_number(transaction) == 0 {
            let selector = required(transaction.entry_point_selector, "entry_point_selector")?;
            return self.versioned("invoke", selector, calldata, fee, &[]);
        }
        let nonce = required(transaction.nonce, "nonce")?;
        self.versioned("invoke", Felt::ZERO, calldata, fee, &[nonce])
    }

    fn declare(&self) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        let class_hash = required(transaction.class_hash, "class_hash")?;
        let fee = required(transaction.max_fee, "max_fee")?;
        if version_number(transaction) == 0 {
            let nothing = Pedersen::hash_array(&[]);
            return self.versioned("declare", Felt::ZERO, nothing, fee, &[class_hash]);
        }
        let mut tail = vec![required(transaction.nonce, "nonce")?];
        if version_number(transaction) > 1 {
            tail.push(required(transaction.compiled_class_hash, "compiled_class_hash")?);
        }
        self.versioned("declare", Felt::ZERO, Pedersen::hash_array(&[class_hash]), fee, &tail)
    }

    fn deploy_account(&self) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        let mut body = vec![
            required(transaction.class_hash, "class_hash")?,
            required(transaction.contract_address_salt, "contract_address_salt")?,
        ];
        body.extend_from_slice(list(&transaction.constructor_calldata, "constructor_calldata")?);
        let fee = required(transaction.max_fee, "max_fee")?;
        let nonce = required(transaction.nonce, "nonce")?;
        self.versioned("deploy_account", Felt::ZERO, Pedersen::hash_array(&body), fee, &[nonce])
    }

    fn versioned(
        &self,
        prefix: &str,
        selector: Felt,
        body: Felt,
        fee: Felt,
        tail: &[Felt],
    ) -> Result<Felt, MissingMember> {
        let address = self.address()?;
        let version = self.transaction.version;
        let head = [short_string(prefix), version, address, selector, body, fee, self.chain_id];
        Ok(Pedersen::hash_array(&[&head, tail].concat()))
    }

    /// Return the transaction's hash as in the first blocks: over `prefix` (the kind, such as `invoke`), address,
    /// selector, calldata, chain id and `nonce` if it is given, but neither version nor fee.
    fn unversioned(&self, prefix: &str, nonce: Option<Felt>) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        let (selector, calldata) = match transaction.kind {
            TransactionKind::Deploy => (
                starknet_keccak(b"constructor"),
                list(&transaction.constructor_calldata, "constructor_calldata")?,
            ),
            _ => (
                required(transaction.entry_point_selector, "entry_point_selector")?,
                list(&transaction.calldata, "calldata")?,
            ),
        };
        let mut values = vec![
            short_string(prefix),
            self.address()?,
            selector,
            Pedersen::hash_array(calldata),
            self.chain_id,
        ];
        values.extend(nonce);
        Ok(Pedersen::hash_array(&values))
    }

    fn version_3(&self, with_data_bound: bool) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        let prefix = match transaction.kind {
            TransactionKind::Declare => "declare",
            TransactionKind::DeployAccount => "deploy_account",
            _ => "invoke",
        };
        let bounds = transaction.resource_bounds.as_ref().ok_or(MissingMember("resource_bounds"))?;
        let tip = required(transaction.tip, "tip")?;
        let mut values = vec![
            short_string(prefix),
            transaction.version,
            self.address()?,
            fee_hash(tip, bounds, with_data_bound),
            Poseidon::hash_array(list(&transaction.paymaster_data, "paymaster_data")?),
            self.chain_id,
            required(transaction.nonce, "nonce")?,
            self.modes()?,
        ];
        values.extend(self.version_3_tail()?);
        Ok(Poseidon::hash_array(&values))
    }

    fn version_3_tail(&self) -> Result<Vec<Felt>, MissingMember> {
        let transaction = self.transaction;
        let class_hash = || required(transaction.class_hash, "class_hash");
        let deployment_data = || list(&transaction.account_deployment_data, "account_deployment_data");
        match transaction.kind {
            TransactionKind::Declare => Ok(vec![
                Poseidon::hash_array(deployment_data()?),
                class_hash()?,
                required(transaction.compiled_class_hash, "compiled_class_hash")?,
            ]),
            TransactionKind::DeployAccount => Ok(vec![
                Poseidon::hash_array(list(&transaction.constructor_calldata, "constructor_calldata")?),
                class_hash()?,
                required(transaction.contract_address_salt, "contract_address_salt")?,
            ]),
            _ => {
                let mut tail = vec![
                    Poseidon::hash_array(deployment_data()?),
                    Poseidon::hash_array(list(&transaction.calldata, "calldata")?),
                ];
                let facts = transaction.proof_facts.as_ref().filter(|facts| !facts.is_empty());
                tail.extend(facts.map(|facts| Poseidon::hash_array(facts)));
                Ok(tail)
            }
        }
    }

    /// Return both data availability modes in 64 bits: the nonce's in the high 32, the fee's in the low 32.
    fn modes(&self) -> Result<Felt, MissingMember> {
        let transaction = self.transaction;
        let nonce = required(transaction.nonce_data_availability_mode, "nonce_data_availability_mode")?;
        let fee = required(transaction.fee_data_availability_mode, "fee_data_availability_mode")?;
        Ok(Felt::from(layer(nonce) << 32 | layer(fee)))
    }
}

fn layer(layer: DataLayer) -> u64 {
    match layer {
        DataLayer::L1 => 0,
        DataLayer::L2 => 1,
    }
}

fn has_zero_data_bound(transaction: &UnverifiedTransaction) -> bool {
    let bound = transaction.resource_bounds.and_then(|bounds| bounds.l1_data_gas);
    bound.is_some_and(|bound| bound.max_amount == 0 && bound.max_price_per_unit == 0)
}

fn fee_hash(tip: Felt, bounds: &ResourceBounds, with_data_bound: bool) -> Felt {
    let mut values = vec![tip, packed(b"L1_GAS", bounds.l1_gas), packed(b"L2_GAS", bounds.l2_gas)];
    let data_bound = bounds.l1_data_gas.filter(|_| with_data_bound);
    values.extend(data_bound.map(|bound| packed(b"L1_DATA", bound)));
    Poseidon::hash_array(&values)
}

/// Return a resource bound as a felt: the name in the high 8 bytes, the amount in 8, the price in the low 16.
fn packed(name: &[u8], bound: ResourceBound) -> Felt {
    let mut bytes = [0; 32];
    bytes[8 - name.len()..8].copy_from_slice(name);
    bytes[8..16].copy_from_slice(&bound.max_amount.to_be_bytes());
    bytes[16..].copy_from_slice(&bound.max_price_per_unit.to_be_bytes());
    Felt::from_bytes_be(&bytes)
}

/// Return a hash modulo 2^251 - 256, the bound of addresses.
fn below_address_bound(hash: Felt) -> Felt {
    let bound = Felt::TWO.pow(251_u32) - Felt::from(256);
    if hash >= bound {
        hash - bound
    } else {
        hash
    }
}

fn required<T: Copy>(member: Option<T>, name: &'static str) -> Result<T, MissingMember> {
    member.ok_or(MissingMember(name))
}

fn list<'a>(member: &'a Option<Vec<Felt>>, name: &'static str) -> Result<&'a [Felt], MissingMember> {
    member.as_deref().ok_or(MissingMember(name))
}
