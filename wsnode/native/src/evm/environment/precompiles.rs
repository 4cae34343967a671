//! Precompiled contracts of a block: those of Ethereum's fork, with the changes of the OP stack.

use std::sync::OnceLock;

use alloy_evm::EvmEnv;
use revm::precompile::{
    bls12_381, bn254, secp256r1, Precompile, PrecompileHalt, PrecompileOutput, PrecompileResult,
    PrecompileSpecId, Precompiles,
};

use crate::evm::chain_spec::{ChainSpec, OpFork};

const SETS: usize = PrecompileSpecId::NEXT as usize + 1;
const FORKS: usize = OpFork::Karst as usize + 1;

pub fn precompiles(spec: &ChainSpec, environment: &EvmEnv) -> &'static Precompiles {
    static CHANGED: [[OnceLock<Precompiles>; SETS]; FORKS] =
        [const { [const { OnceLock::new() }; SETS] }; FORKS];
    let set = PrecompileSpecId::from_spec_id(environment.cfg_env.spec);
    match spec.op_fork(environment.block_env.timestamp.saturating_to()) {
        Some(fork) => CHANGED[fork as usize][set as usize].get_or_init(|| changed(set, fork)),
        None => Precompiles::new(set),
    }
}

/// Return the precompiled contracts of an OP stack fork (op-geth core/vm/contracts.go:
/// PrecompiledContractsFjord and its successors).
fn changed(set: PrecompileSpecId, fork: OpFork) -> Precompiles {
    let mut contracts = Precompiles::new(set).clone();
    if !set.is_enabled_in(PrecompileSpecId::OSAKA) {
        contracts.extend([secp256r1::P256VERIFY]);
    }
    let pairing = match fork {
        OpFork::Fjord => None,
        OpFork::Granite => Some(bn_pairing::<112_687> as _),
        OpFork::Jovian => Some(bn_pairing::<81_984> as _),
        OpFork::Karst => Some(bn_pairing::<57_600> as _),
    };
    contracts.extend(pairing.map(|run| limited(bn254::pair::ISTANBUL, run)));
    if set.is_enabled_in(PrecompileSpecId::PRAGUE) {
        contracts.extend(bls_contracts(fork));
    }
    contracts
}

fn bls_contracts(fork: OpFork) -> [Precompile; 3] {
    let (g1, g2, pairing): (PrecompileRun, PrecompileRun, PrecompileRun) = match fork >= OpFork::Jovian {
        true => (g1_msm::<288_960>, g2_msm::<278_784>, bls_pairing::<156_672>),
        false => (g1_msm::<513_760>, g2_msm::<488_448>, bls_pairing::<235_008>),
    };
    [
        limited(bls12_381::g1_msm::PRECOMPILE, g1),
        limited(bls12_381::g2_msm::PRECOMPILE, g2),
        limited(bls12_381::pairing::PRECOMPILE, pairing),
    ]
}

type PrecompileRun = fn(&[u8], u64, u64) -> PrecompileResult;

/// Return a contract with the same address and name. `run` executes it and limits its input.
fn limited(contract: Precompile, run: PrecompileRun) -> Precompile {
    Precompile::new(contract.id().clone(), *contract.address(), run)
}

fn bn_pairing<const MAX_BYTES: usize>(input: &[u8], gas: u64, reservoir: u64) -> PrecompileResult {
    if input.len() > MAX_BYTES {
        return Ok(PrecompileOutput::halt(PrecompileHalt::Bn254PairLength, reservoir));
    }
    bn254::pair::ISTANBUL.execute(input, gas, reservoir)
}

fn g1_msm<const MAX_BYTES: usize>(input: &[u8], gas: u64, reservoir: u64) -> PrecompileResult {
    if input.len() > MAX_BYTES {
        return Ok(PrecompileOutput::halt(PrecompileHalt::Bls12381G1MsmInputLength, reservoir));
    }
    bls12_381::g1_msm::PRECOMPILE.execute(input, gas, reservoir)
}

fn g2_msm<const MAX_BYTES: usize>(input: &[u8], gas: u64, reservoir: u64) -> PrecompileResult {
    if input.len() > MAX_BYTES {
        return Ok(PrecompileOutput::halt(PrecompileHalt::Bls12381G2MsmInputLength, reservoir));
    }
    bls12_381::g2_msm::PRECOMPILE.execute(input, gas, reservoir)
}

fn bls_pairing<const MAX_BYTES: usize>(input: &[u8], gas: u64, reservoir: u64) -> PrecompileResult {
    if input.len() > MAX_BYTES {
        return Ok(PrecompileOutput::halt(PrecompileHalt::Bls12381PairingInputLength, reservoir));
    }
    bls12_381::pairing::PRECOMPILE.execute(input, gas, reservoir)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;

    use super::*;

    fn is_too_long(fork: OpFork, address: Address, length: usize) -> bool {
        let contracts = changed(PrecompileSpecId::OSAKA, fork);
        let output = contracts.get(&address).unwrap().execute(&vec![0; length], u64::MAX, 0).unwrap();
        output.halt_reason() == Some(&PrecompileHalt::Bn254PairLength)
    }

    #[test]
    fn a_pairing_has_a_longest_input_from_granite_on() {
        let pairing = *bn254::pair::ISTANBUL.address();
        // 300 pairs of 192 bytes are allowed from Karst on, and 427 before it.
        assert!(!is_too_long(OpFork::Karst, pairing, 57_600));
        assert!(is_too_long(OpFork::Karst, pairing, 57_792));
        assert!(!is_too_long(OpFork::Jovian, pairing, 57_792));
        assert!(is_too_long(OpFork::Jovian, pairing, 82_176));
    }

    #[test]
    fn sums_on_the_other_curve_have_one_from_isthmus_on() {
        for (fork, contract, most) in [
            (OpFork::Granite, bls12_381::g1_msm::PRECOMPILE, 513_760),
            (OpFork::Jovian, bls12_381::g1_msm::PRECOMPILE, 288_960),
            (OpFork::Granite, bls12_381::g2_msm::PRECOMPILE, 488_448),
            (OpFork::Jovian, bls12_381::g2_msm::PRECOMPILE, 278_784),
            (OpFork::Granite, bls12_381::pairing::PRECOMPILE, 235_008),
            (OpFork::Jovian, bls12_381::pairing::PRECOMPILE, 156_672),
        ] {
            let contracts = changed(PrecompileSpecId::PRAGUE, fork);
            let run =
                |length| contracts.get(contract.address()).unwrap().execute(&vec![0; length], 0, 0).unwrap();
            // The gas is 0, so the contract itself always halts with OutOfGas. Any other reason comes from
            // the limit of the length.
            assert_eq!(run(most).halt_reason(), Some(&PrecompileHalt::OutOfGas));
            assert_ne!(run(most + 1).halt_reason(), Some(&PrecompileHalt::OutOfGas));
        }
    }

    #[test]
    fn the_signature_check_costs_half_before_osaka() {
        let used = |set| {
            let contracts = changed(set, OpFork::Fjord);
            contracts.get(secp256r1::P256VERIFY.address()).unwrap().execute(&[], 10_000, 0).unwrap().gas_used
        };
        assert_eq!((used(PrecompileSpecId::CANCUN), used(PrecompileSpecId::OSAKA)), (3_450, 6_900));
    }
}
