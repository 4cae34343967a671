//! Tests of clients' transactions: their fields and senders, and that no bytes make the decoder panic.

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Header, TxEnvelope};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::{Address, TxKind, B256, U256};

use super::PooledTransaction;
use crate::chain::rows::{encode_body, encode_header};
use crate::error::Error;
use crate::evm::block;
use crate::evm::chain_spec::ChainSpec;
use crate::evm::sign::{address_of, impersonate, sign, Draft, OfferedPrice};
use crate::json::random::Random;

const SECRET: B256 = B256::repeat_byte(0x11);

fn spec() -> ChainSpec {
    let genesis =
        br#"{"config": {"chainId": 1337}, "difficulty": "0x1", "gasLimit": "0x1c9c380", "alloc": {}}"#;
    ChainSpec::from_json(genesis).unwrap()
}

fn draft(price: OfferedPrice) -> Draft {
    Draft {
        chain_id: 1337,
        nonce: 7,
        to: TxKind::Call(Address::repeat_byte(2)),
        value: U256::from(10_u64.pow(18)),
        input: vec![1, 2, 3].into(),
        gas: 50_000,
        price,
        access_list: None,
        authorizations: None,
    }
}

fn drafts() -> Vec<Draft> {
    let dynamic = OfferedPrice::Dynamic { max_fee: 9, max_priority_fee: 3 };
    let [fixed, dynamic] = [OfferedPrice::Fixed(5), dynamic].map(draft);
    let listed = Draft { access_list: Some(Default::default()), ..fixed.clone() };
    let code = Draft { authorizations: Some(Vec::new()), ..dynamic.clone() };
    vec![fixed, listed, dynamic, code]
}

fn kind_of(result: Result<PooledTransaction, Error>) -> &'static str {
    match result {
        Err(Error::InvalidTransaction { kind, .. }) => kind,
        Err(other) => panic!("not a typed refusal: {other}"),
        Ok(_) => "",
    }
}

#[test]
fn what_is_signed_is_read_back_with_its_signer() {
    for (draft, kind) in drafts().into_iter().zip([0, 1, 2, 4]) {
        let encoded = sign(SECRET, draft).unwrap();
        let read = PooledTransaction::decode(&spec(), &encoded).unwrap();
        assert_eq!(read.envelope.tx_type() as u8, kind);
        assert_eq!(read.sender, address_of(SECRET).unwrap());
        assert_eq!((&read.encoded, read.size), (&encoded, encoded.len()));
    }
}

#[test]
fn only_who_is_told_to_takes_a_placeholder_for_a_signature() {
    let sender = Address::repeat_byte(7);
    for draft in drafts() {
        let encoded = impersonate(sender, draft.clone()).unwrap();
        assert_eq!(kind_of(PooledTransaction::decode(&spec(), &encoded)), "signature");
        assert!(TxEnvelope::decode_2718_exact(&encoded).unwrap().recover_signer_unchecked().is_err());
        let transaction = PooledTransaction::decode_impersonated(&spec(), &encoded).unwrap();
        assert_eq!((transaction.sender, transaction.is_impersonated), (sender, true));
        let signed = sign(SECRET, draft).unwrap();
        assert_eq!(kind_of(PooledTransaction::decode_impersonated(&spec(), &signed)), "signature");
    }
}

#[test]
fn equal_transactions_of_two_senders_have_two_hashes() {
    for draft in drafts() {
        let hashes = [Address::repeat_byte(7), Address::repeat_byte(8)].map(|sender| {
            let encoded = impersonate(sender, draft.clone()).unwrap();
            *PooledTransaction::decode_impersonated(&spec(), &encoded).unwrap().envelope.tx_hash()
        });
        assert_ne!(hashes[0], hashes[1]);
    }
}

#[test]
fn damaged_bytes_are_refusals_and_never_panics() {
    let mut random = Random(29);
    let spec = spec();
    let mut samples: Vec<Vec<u8>> = (0..40).map(|_| random.transaction().encoded_2718()).collect();
    samples.extend(drafts().into_iter().map(|draft| sign(SECRET, draft).unwrap()));
    for round in 0..20_000 {
        let mut bytes = samples[round % samples.len()].clone();
        for _ in 0..=random.below(3) {
            let position = random.below(bytes.len().clamp(1, 80));
            match random.below(4) {
                0 => bytes.truncate(position),
                1 => bytes.insert(position.min(bytes.len()), random.number() as u8),
                _ if position < bytes.len() => bytes[position] = random.number() as u8,
                _ => {}
            }
        }
        kind_of(PooledTransaction::decode(&spec, &bytes));
    }
}

#[test]
fn a_truncated_transaction_is_refused() {
    let encoded = sign(SECRET, drafts().remove(2)).unwrap();
    for length in 3..encoded.len() {
        let Err(Error::InvalidTransaction { kind, message }) =
            PooledTransaction::decode(&spec(), &encoded[..length])
        else {
            panic!("{length} bytes of a transaction are none");
        };
        assert_eq!(kind, "rlp");
        assert!(message.starts_with("rlp: "), "{message}");
    }
}

#[test]
fn rows_keep_the_sender_that_no_signature_tells() {
    let sender = Address::repeat_byte(7);
    let encoded = impersonate(sender, drafts().remove(2)).unwrap();
    let envelope = TxEnvelope::decode_2718_exact(&encoded).unwrap();
    let header = Header::default();
    let header_row = encode_header(&header, header.hash_slow(), 600, None);
    let body_row = encode_body(&[envelope], &[sender], &[], None);
    let block = block::from_rows(&spec(), &header_row, &body_row).unwrap();
    assert_eq!(block.senders, [sender]);
    assert_eq!(&*block.body_row, &*body_row);
}
