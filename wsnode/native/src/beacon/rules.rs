//! Rules of the light client: a bootstrap with the expected root, and updates signed by two thirds of a committee.
//!
//! The rules are those of altair/light-client/sync-protocol.md and its later forks, cheapest first, and stricter in
//! two ways. Fewer signers than two thirds of the committee move neither header; the specification moves the
//! optimistic header above half of the highest recent participation, which in a new store is one signature. There is
//! no forced update: it would make an attested header final without a finality branch.

use std::sync::Arc;

use alloy_primitives::B256;

use super::codec::{decode_bootstrap, decode_update};
use super::committee::Committee;
use super::forks::BeaconConfig;
use super::merkle::is_branch;
use super::objects::{Branched, LightClientUpdate, UnverifiedCommittee, UnverifiedHeader, UpdateKind};
use super::refusal::Refusal;
use super::store::{Equivocation, LightClientStore, ProvedHeader, StoreChange};

/// Return a light client that begins at the beacon block with root `checkpoint`.
///
/// `answer` is the Beacon API's bootstrap of that block, JSON. Its header, execution proof and committee branch are
/// verified, and all keys of the committee are decoded.
pub fn bootstrap(
    network: Arc<BeaconConfig>,
    checkpoint: B256,
    answer: &[u8],
) -> Result<LightClientStore, Refusal> {
    let told = decode_bootstrap(&network, answer)?;
    let beacon = &told.header.beacon;
    let (slot, actual) = (beacon.slot, beacon.root());
    if actual != checkpoint {
        return Err(Refusal::Checkpoint { slot, expected: checkpoint, actual });
    }
    let header = verified(&network, &told.header)?;
    let index = network.form(slot)?.current_committee;
    let Branched { value, branch } = told.committee;
    if !is_branch(value.root(), &branch, index, beacon.state_root) {
        return Err(Refusal::CommitteeBranch { slot });
    }
    let current = Arc::new(Committee::new(value));
    current.keys().map_err(|member| Refusal::CommitteeKey { slot, member })?;
    Ok(LightClientStore {
        network,
        checkpoint,
        finalized: header,
        optimistic: header,
        signers: 0,
        current,
        next: None,
    })
}

/// Return the light client after an update, and the changes; a refused update leaves `client` as it was.
///
/// `answer` is JSON of the Beacon API, and `clock` the current slot: a later signature is refused. An update signed
/// by less than two thirds of the committee is accepted and changes nothing.
pub fn take(
    client: &LightClientStore,
    kind: UpdateKind,
    answer: &[u8],
    clock: u64,
) -> Result<(LightClientStore, StoreChange), Refusal> {
    let update = decode_update(&client.network, kind, answer)?;
    let signed = verify(client, &update, clock)?;
    Ok(apply(client, signed))
}

/// Finalized header before the first finalized epoch, with a root of zero as in the specification.
const GENESIS: ProvedHeader = ProvedHeader { slot: 0, root: B256::ZERO, block_hash: B256::ZERO };

/// Parts of an update after all its rules, branches and its signature were checked.
struct SignedUpdate<'a> {
    attested: ProvedHeader,
    finalized: Option<ProvedHeader>,
    next_committee: Option<&'a UnverifiedCommittee>,
    signers: u64,
}

fn verified(network: &BeaconConfig, header: &UnverifiedHeader) -> Result<ProvedHeader, Refusal> {
    let slot = header.beacon.slot;
    let block_hash = header.block_hash(network.form(slot)?)?;
    Ok(ProvedHeader { slot, root: header.beacon.root(), block_hash })
}

fn verify<'a>(
    client: &LightClientStore,
    update: &'a LightClientUpdate,
    clock: u64,
) -> Result<SignedUpdate<'a>, Refusal> {
    let slot = update.attested.beacon.slot;
    let signers = update.signers.iter().filter(|is_signer| **is_signer).count();
    if signers == 0 {
        return Err(Refusal::Participants { slot });
    }
    let attested = verified(&client.network, &update.attested)?;
    require_slots(update, clock)?;
    let committee = require_period(client, update)?;
    require_relevant(client, update)?;
    let finalized = update.finalized.as_ref().map(|told| require_finality(client, update, told));
    let next_committee = update.next_committee.as_ref().map(|told| require_committee(client, update, told));
    let (finalized, next_committee) =
        (finalized.transpose()?.flatten(), next_committee.transpose()?.flatten());
    // The signature is checked last, because this check alone takes milliseconds.
    let root = client.network.signing_root(attested.root, update.signature_slot);
    let has_signed = committee.has_signed(&update.signers, root, &update.signature);
    if !has_signed.map_err(|member| Refusal::CommitteeKey { slot, member })? {
        return Err(Refusal::Signature { slot, signers });
    }
    Ok(SignedUpdate { attested, finalized, next_committee, signers: signers as u64 })
}

fn require_slots(update: &LightClientUpdate, clock: u64) -> Result<(), Refusal> {
    let (signed, attested) = (update.signature_slot, update.attested.beacon.slot);
    if signed > clock {
        return Err(Refusal::Future { signed, clock });
    }
    let finalized = update.finalized.as_ref().map_or(0, |told| told.value.beacon.slot);
    if signed <= attested || attested < finalized {
        return Err(Refusal::Slots { signed, attested, finalized });
    }
    Ok(())
}

/// Return the committee of the signature slot's period; refuse a period other than those of known committees.
fn require_period<'a>(
    client: &'a LightClientStore,
    update: &LightClientUpdate,
) -> Result<&'a Committee, Refusal> {
    let (first, signed) = (client.period(), client.network.period(update.signature_slot));
    match (signed.checked_sub(first), &client.next) {
        (Some(0), _) => Ok(&client.current),
        (Some(1), Some(next)) => Ok(next),
        (_, next) => {
            let last = first + u64::from(next.is_some());
            Err(Refusal::Period { slot: update.attested.beacon.slot, signed, first, last })
        }
    }
}

/// Refuse an update with neither a head after the finalized slot nor an unknown next committee.
fn require_relevant(client: &LightClientStore, update: &LightClientUpdate) -> Result<(), Refusal> {
    let (slot, finalized) = (update.attested.beacon.slot, client.finalized.slot);
    let has_committee = update.next_committee.as_ref().is_some_and(Branched::has_branch);
    let is_of_period = client.network.period(slot) == client.period();
    if slot > finalized || (client.next.is_none() && has_committee && is_of_period) {
        Ok(())
    } else {
        Err(Refusal::Relevant { slot, finalized })
    }
}

/// Return the update's finalized header after its branches are checked; none if header and branch are zeros.
///
/// At slot 0 the header itself is zeros, and the branch proves a root of zero: the result is `GENESIS`.
fn require_finality(
    client: &LightClientStore,
    update: &LightClientUpdate,
    told: &Branched<UnverifiedHeader>,
) -> Result<Option<ProvedHeader>, Refusal> {
    let attested = &update.attested.beacon;
    let refusal = Refusal::FinalityBranch { slot: attested.slot };
    let is_genesis = told.value.beacon.slot == 0;
    if (is_genesis || !told.has_branch()) && !told.value.is_empty() {
        return Err(refusal);
    }
    if !told.has_branch() {
        return Ok(None);
    }
    let header = if is_genesis { GENESIS } else { verified(&client.network, &told.value)? };
    let index = client.network.form(attested.slot)?.finalized_root;
    if is_branch(header.root, &told.branch, index, attested.state_root) {
        Ok(Some(header))
    } else {
        Err(refusal)
    }
}

/// Return the update's next committee after its branch is checked; none if committee and branch are zeros.
fn require_committee<'a>(
    client: &LightClientStore,
    update: &LightClientUpdate,
    told: &'a Branched<UnverifiedCommittee>,
) -> Result<Option<&'a UnverifiedCommittee>, Refusal> {
    let attested = &update.attested.beacon;
    let refusal = |reason| Err(Refusal::NextCommittee { slot: attested.slot, reason });
    if !told.has_branch() {
        return if told.value.is_empty() { Ok(None) } else { refusal("it comes without a branch") };
    }
    let is_of_period = client.network.period(attested.slot) == client.period();
    if is_of_period && client.next.as_ref().is_some_and(|known| *known.told() != told.value) {
        return refusal("another one is known");
    }
    let index = client.network.form(attested.slot)?.next_committee;
    if !is_branch(told.value.root(), &told.branch, index, attested.state_root) {
        return refusal("it is not under the state root");
    }
    Ok(Some(&told.value))
}

/// Return the store after a signed update (altair/light-client/sync-protocol.md: `process_light_client_update`).
fn apply(client: &LightClientStore, signed: SignedUpdate<'_>) -> (LightClientStore, StoreChange) {
    let mut next = client.clone();
    let mut change = StoreChange { signers: signed.signers, ..StoreChange::default() };
    if signed.signers * 3 < client.network.committee_size * 2 {
        return (next, change);
    }
    change.equivocation = equivocation(client, &signed);
    if signed.attested.slot > client.optimistic.slot {
        (next.optimistic, next.signers, change.optimistic) = (signed.attested, signed.signers, true);
    }
    if let Some(finalized) = signed.finalized {
        apply_finality(&mut next, &mut change, finalized, &signed);
    }
    (next, change)
}

fn apply_finality(
    next: &mut LightClientStore,
    change: &mut StoreChange,
    finalized: ProvedHeader,
    signed: &SignedUpdate<'_>,
) {
    let network = next.network.clone();
    let (known, slot) = (next.period(), signed.attested.slot);
    let period = network.period(finalized.slot);
    let is_newer = finalized.slot > next.finalized.slot;
    let committee = || signed.next_committee.cloned().map(Committee::new).map(Arc::new);
    if next.next.is_none() {
        // The signed committee is taken only in the period of the finalized header, so that it is final, too.
        if period == known && network.period(slot) == period {
            next.next = committee();
            change.next_committee = next.next.is_some();
        }
    } else if is_newer && period == known + 1 {
        let following = committee();
        change.period = true;
        change.next_committee = following.is_some();
        if let Some(shifted) = std::mem::replace(&mut next.next, following) {
            next.current = shifted;
        }
    }
    if is_newer {
        next.finalized = finalized;
        change.finalized = true;
        if finalized.slot > next.optimistic.slot {
            (next.optimistic, next.signers, change.optimistic) = (finalized, signed.signers, true);
        }
    }
}

fn equivocation(client: &LightClientStore, signed: &SignedUpdate<'_>) -> Option<Equivocation> {
    let differing = |known: ProvedHeader, told: ProvedHeader, is_final| {
        let is_other = known.slot == told.slot && known.root != told.root;
        is_other.then_some(Equivocation { slot: told.slot, kept: known.root, other: told.root, is_final })
    };
    signed
        .finalized
        .filter(|told| *told != GENESIS)
        .and_then(|told| differing(client.finalized, told, true))
        .or_else(|| differing(client.optimistic, signed.attested, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::LIGHT_CLIENT;

    fn header(slot: u64, byte: u8) -> ProvedHeader {
        ProvedHeader { slot, root: B256::repeat_byte(byte), block_hash: B256::repeat_byte(byte) }
    }

    fn signed(
        attested: ProvedHeader,
        finalized: Option<ProvedHeader>,
        signers: u64,
    ) -> SignedUpdate<'static> {
        SignedUpdate { attested, finalized, next_committee: None, signers }
    }

    #[test]
    fn of_two_blocks_of_one_slot_the_first_stays_and_both_are_named() {
        let slot = LIGHT_CLIENT.finalized.slot + 9;
        let (first, change) = apply(&LIGHT_CLIENT, signed(header(slot, 1), None, 22));
        assert_eq!((change.optimistic, change.equivocation), (true, None));
        let (second, change) = apply(&first, signed(header(slot, 2), None, 32));
        assert_eq!(second.optimistic, header(slot, 1));
        let (kept, other) = (B256::repeat_byte(1), B256::repeat_byte(2));
        assert_eq!(change.equivocation, Some(Equivocation { slot, kept, other, is_final: false }));
        let (_, change) = apply(&first, signed(header(slot, 2), None, 21));
        assert_eq!(change, StoreChange { signers: 21, ..StoreChange::default() });
    }

    #[test]
    fn two_final_blocks_of_one_slot_are_two_chains() {
        let known = LIGHT_CLIENT.finalized;
        let other = ProvedHeader { root: B256::repeat_byte(3), ..known };
        let update = |finalized| signed(header(known.slot + 20, 4), Some(finalized), 30);
        let (same, change) = apply(&LIGHT_CLIENT, update(other));
        assert_eq!((same.finalized, change.finalized), (known, false));
        assert!(change.equivocation.is_some_and(|found| found.is_final && found.other == other.root));
        assert_eq!(apply(&LIGHT_CLIENT, update(known)).1.equivocation, None);
        assert_eq!(apply(&LIGHT_CLIENT, update(GENESIS)).1.equivocation, None);
    }

    #[test]
    fn a_final_header_above_the_proved_head_is_the_head() {
        let final_header = header(LIGHT_CLIENT.finalized.slot + 8, 5);
        let attested = ProvedHeader { slot: final_header.slot, ..header(0, 5) };
        let (next, change) = apply(&LIGHT_CLIENT, signed(attested, Some(final_header), 32));
        assert!(change.finalized && change.optimistic);
        assert_eq!((next.finalized, next.optimistic, next.signers), (final_header, final_header, 32));
    }

    #[test]
    fn a_finalized_header_has_an_age() {
        let begins = LIGHT_CLIENT.network.slot_start(LIGHT_CLIENT.finalized.slot);
        let mut client = LIGHT_CLIENT.clone();
        let network = BeaconConfig { weak_subjectivity_seconds: 100, ..(*client.network).clone() };
        client.network = Arc::new(network);
        assert_eq!(client.require_recent(begins + 100), Ok(()));
        assert_eq!(client.require_recent(0), Ok(()));
        let old = client.require_recent(begins + 101).unwrap_err();
        assert_eq!((old.since_seconds, old.age_seconds, old.most_seconds), (begins, 101, 100));
    }
}
