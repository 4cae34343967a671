use starknet_types_core::felt::Felt;
use starknet_types_core::hash::Pedersen;

use super::*;
use crate::starknet::state::{AskedPaths, StarknetStateTries, StateDiff};
use crate::starknet::trie::ProofNode;

fn felt(number: u64) -> Felt {
    Felt::from(number)
}

/// Make the tries of a state with 39 contracts of up to nine slots each, and 19 classes.
fn tries() -> StarknetStateTries {
    let mut change = StateDiff::default();
    for number in 1..40_u64 {
        let address = felt(number * number * 7919);
        change.class_hashes.push([address, felt(1000 + number % 3)]);
        change.nonces.push([address, felt(number % 5)]);
        change
            .storage
            .extend((0..number % 10).map(|key| [address, felt(key * key * 31), felt(key + number)]));
    }
    change.compiled_classes.extend((1..20_u64).map(|number| [felt(number << 40), felt(number)]));
    let mut tries = StarknetStateTries::default();
    tries.apply(&change);
    tries
}

fn question() -> ProofQuestion {
    let asked = |address: u64, keys: &[u64]| ContractQuestion {
        address: felt(address),
        keys: keys.iter().map(|key| felt(*key)).collect(),
    };
    ProofQuestion {
        class_hashes: vec![felt(3 << 40), felt(5)],
        // In this order: two contracts with slots (slot 5 of the first was never written), one without
        // storage, an absent one, and one without requested slots.
        contracts: vec![
            asked(9 * 9 * 7919, &[31, 124, 5]),
            asked(12 * 12 * 7919, &[0]),
            asked(10 * 10 * 7919, &[7]),
            asked(5, &[1]),
            asked(8 * 8 * 7919, &[]),
        ],
    }
}

fn made(tries: &mut StarknetStateTries, question: &ProofQuestion) -> (Vec<u8>, StateOfBlock) {
    let with_keys = question.contracts.iter().filter(|asked| !asked.keys.is_empty());
    let asked = AskedPaths {
        class_hashes: question.class_hashes.clone(),
        contracts: question.contracts.iter().map(|asked| asked.address).collect(),
        storage: with_keys.map(|asked| (asked.address, asked.keys.clone())).collect(),
    };
    let block = StateOfBlock { block_hash: felt(42), state_root: tries.root(true) };
    (render(&tries.prove(&asked), block.block_hash), block)
}

fn json(text: &[u8]) -> serde_json::Value {
    serde_json::from_slice(text).unwrap()
}

fn rule_of(proof: &serde_json::Value, question: &ProofQuestion, block: &StateOfBlock) -> &'static str {
    verify(proof.to_string().as_bytes(), question, block).expect_err("the proof is false").rule()
}

#[test]
fn a_proof_gives_the_values_of_the_state() {
    let (text, block) = made(&mut tries(), &question());
    let proved = verify(&text, &question(), &block).unwrap();
    let [first, second, third, absent, last] = &proved.contracts[..] else { panic!("five contracts") };
    let first = first.as_ref().unwrap();
    assert_eq!((first.class_hash, first.nonce), (felt(1000), felt(4)));
    assert_eq!(first.values, [felt(10), felt(11), Felt::ZERO]);
    assert_eq!(second.as_ref().unwrap().values, [felt(12)]);
    let third = third.as_ref().unwrap();
    assert_eq!((third.storage_root, &third.values[..]), (Felt::ZERO, &[Felt::ZERO][..]));
    assert_eq!(*absent, None);
    assert!(last.as_ref().unwrap().values.is_empty());
    assert_ne!(proved.class_leaves[0], Felt::ZERO);
    assert_eq!(proved.class_leaves[1], Felt::ZERO);
}

#[test]
fn the_order_of_nodes_and_of_storage_proofs_does_not_matter() {
    let (text, block) = made(&mut tries(), &question());
    let expected = verify(&text, &question(), &block).unwrap();
    let mut proof = json(&text);
    let root = proof["global_roots"]["contracts_tree_root"].clone();
    for leaf in proof["contracts_proof"]["contract_leaves_data"].as_array_mut().unwrap().iter_mut().take(3) {
        leaf["storage_root"] = root.clone();
    }
    let lists = proof["contracts_storage_proofs"].as_array_mut().unwrap();
    lists.reverse();
    lists.iter_mut().for_each(|list| list.as_array_mut().unwrap().reverse());
    proof["contracts_proof"]["nodes"].as_array_mut().unwrap().reverse();
    proof["classes_proof"].as_array_mut().unwrap().reverse();
    assert_eq!(verify(proof.to_string().as_bytes(), &question(), &block).unwrap(), expected);
}

#[test]
fn any_other_digit_is_refused_or_changes_nothing() {
    let (text, block) = made(&mut tries(), &question());
    let expected = verify(&text, &question(), &block).unwrap();
    let (mut refused, mut tried) = (0, 0);
    for at in (0..text.len()).step_by(11) {
        tried += 1;
        let mut changed = text.clone();
        changed[at] = if text[at] == b'1' { b'2' } else { b'1' };
        match verify(&changed, &question(), &block) {
            Ok(proved) => assert_eq!(proved, expected, "at {at}"),
            Err(_) => refused += 1,
        }
    }
    // Some changes alter nothing: the sent storage roots are only candidates, and `root_of` skips a wrong
    // one.
    assert!(refused * 10 > tried * 9, "{refused} of {tried}");
}

#[test]
fn a_node_that_is_left_out_is_missed() {
    let (text, block) = made(&mut tries(), &question());
    let proof = json(&text);
    for index in 0..proof["contracts_proof"]["nodes"].as_array().unwrap().len() {
        let mut less = proof.clone();
        less["contracts_proof"]["nodes"].as_array_mut().unwrap().remove(index);
        assert_eq!(rule_of(&less, &question(), &block), "missing_node");
    }
    let mut less = proof.clone();
    less["classes_proof"].as_array_mut().unwrap().pop();
    assert_eq!(rule_of(&less, &question(), &block), "missing_node");
    let mut less = proof.clone();
    less["contracts_storage_proofs"][0].as_array_mut().unwrap().pop();
    assert_eq!(rule_of(&less, &question(), &block), "missing_node");
    let mut without_root = proof;
    without_root["contracts_storage_proofs"][0].as_array_mut().unwrap().remove(0);
    let rule = rule_of(&without_root, &question(), &block);
    assert!(["missing_node", "several_roots"].contains(&rule), "{rule}");
}

#[test]
fn another_block_or_another_root_is_refused() {
    let (text, block) = made(&mut tries(), &question());
    for other in [
        StateOfBlock { block_hash: felt(43), state_root: block.state_root },
        StateOfBlock { block_hash: block.block_hash, state_root: felt(43) },
    ] {
        assert_eq!(verify(&text, &question(), &other).unwrap_err().rule(), "other_value");
    }
}

#[test]
fn a_contract_is_neither_hidden_nor_invented() {
    let (text, block) = made(&mut tries(), &question());
    let leaves = |proof: &mut serde_json::Value, index: usize, leaf: serde_json::Value| {
        proof["contracts_proof"]["contract_leaves_data"][index] = leaf;
    };
    let mut hidden = json(&text);
    leaves(&mut hidden, 0, serde_json::Value::Null);
    assert_eq!(rule_of(&hidden, &question(), &block), "other_value");
    let mut invented = json(&text);
    leaves(&mut invented, 3, serde_json::json!({"nonce": "0x1", "class_hash": "0x0"}));
    assert_eq!(rule_of(&invented, &question(), &block), "other_value");
    let mut told_as_zeros = json(&text);
    leaves(
        &mut told_as_zeros,
        3,
        serde_json::json!({"nonce": "0x0", "class_hash": "0x0", "storage_root": "0x0"}),
    );
    assert_eq!(verify(told_as_zeros.to_string().as_bytes(), &question(), &block).unwrap().contracts[3], None);
    let mut other_nonce = json(&text);
    other_nonce["contracts_proof"]["contract_leaves_data"][0]["nonce"] = "0x777".into();
    assert_eq!(rule_of(&other_nonce, &question(), &block), "unknown_storage_root");
}

#[test]
fn edges_that_are_longer_than_the_trie_are_refused() {
    let (text, block) = made(&mut tries(), &question());
    for (length, path) in [(0, "0x0"), (252, "0x0"), (u64::MAX, "0x0"), (1, "0x2")] {
        let node = ProofNode::Edge { path: Felt::from_hex_unchecked(path), length, child: felt(9) };
        let root = node.hash::<Pedersen>();
        let mut proof = json(&text);
        let [contracts, classes] = [root, Felt::ZERO];
        proof["global_roots"]["contracts_tree_root"] = format!("{contracts:#x}").into();
        proof["global_roots"]["classes_tree_root"] = format!("{classes:#x}").into();
        proof["contracts_proof"]["nodes"] = serde_json::json!([{
            "node_hash": format!("{root:#x}"), "node": {"path": path, "length": length, "child": "0x9"},
        }]);
        let of_root = StateOfBlock { block_hash: block.block_hash, state_root: root };
        assert_eq!(rule_of(&proof, &question(), &of_root), "wrong_edge", "{length} {path}");
    }
}

#[test]
fn a_hundred_keys_are_taken_and_one_more_is_not() {
    let mut tries = tries();
    let of = |count: u64| ProofQuestion {
        class_hashes: Vec::new(),
        contracts: vec![ContractQuestion { address: felt(7919), keys: (1..count).map(felt).collect() }],
    };
    let (text, block) = made(&mut tries, &of(100));
    assert_eq!(verify(&text, &of(100), &block).unwrap().contracts[0].as_ref().unwrap().values.len(), 99);
    let (text, block) = made(&mut tries, &of(101));
    assert_eq!(verify(&text, &of(101), &block).unwrap_err().rule(), "too_many_keys");
}

#[test]
fn a_key_beyond_the_height_of_the_trie_is_refused() {
    let (text, block) = made(&mut tries(), &question());
    let highest =
        Felt::from_hex_unchecked("0x7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff");
    for (key, rule) in [(highest, "malformed"), (highest + Felt::ONE, "key_out_of_range")] {
        let contracts = vec![ContractQuestion { address: key, keys: Vec::new() }];
        let asked = ProofQuestion { class_hashes: Vec::new(), contracts };
        assert_eq!(verify(&text, &asked, &block).unwrap_err().rule(), rule);
    }
}

#[test]
fn more_nodes_than_the_keys_have_are_refused() {
    let (text, block) = made(&mut tries(), &question());
    let node = json(&text)["classes_proof"][0].clone();
    let classes = question().class_hashes.len();
    for (count, rule) in [(251 * classes, None), (251 * classes + 1, Some("too_many_items"))] {
        let mut proof = json(&text);
        let nodes = proof["classes_proof"].as_array_mut().unwrap();
        nodes.resize(count, node.clone());
        let outcome = verify(proof.to_string().as_bytes(), &question(), &block);
        assert_eq!(outcome.err().map(|error| error.rule()), rule, "{count}");
    }
    let mut proof = json(&text);
    proof["contracts_storage_proofs"].as_array_mut().unwrap().push(serde_json::json!([]));
    assert_eq!(rule_of(&proof, &question(), &block), "too_many_items");
    let spaces = " ".repeat(16 * 1024 * 1024 + 1 - text.len());
    let longest = [&text[..], &spaces.as_bytes()[1..]].concat();
    assert!(verify(&longest, &question(), &block).is_ok());
    let longer = [&text[..], spaces.as_bytes()].concat();
    assert_eq!(verify(&longer, &question(), &block).unwrap_err().rule(), "too_many_bytes");
}

#[test]
fn a_node_of_no_form_is_named() {
    let (text, block) = made(&mut tries(), &question());
    for node in ["{}", r#"{"left":"0x1"}"#, r#"{"left":"0x1","right":"0x2","length":1}"#, "[]", "7"] {
        let mut proof = json(&text);
        proof["classes_proof"][0]["node"] = serde_json::from_str(node).unwrap();
        let error = verify(proof.to_string().as_bytes(), &question(), &block).unwrap_err();
        assert_eq!(error.rule(), "malformed");
        assert!(error.to_string().starts_with("classes_proof[0]"), "{error}");
    }
}
