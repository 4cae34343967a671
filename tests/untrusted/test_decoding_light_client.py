"""Light-client data that nobody honest sends: each is refused as malformed, in few words, within bounds."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vector_files import CHECKOUT
from wsnode._native.beacon import BeaconNetwork, LightClient, RefusedError, split_updates

CORPUS = CHECKOUT / "fuzz/corpus/beacon"
CHECKPOINT = bytes.fromhex("01c6d211f3a2dc79886e709cf089d4602bf5268b27a188fbea681ab45639389b")
NAMES = ("phase0", "altair", "bellatrix", "capella", "deneb", "electra", "fulu")
WORDS = 160
"""Characters of a message at the most."""

NETWORK = BeaconNetwork(
    genesis_validators_root=bytes.fromhex("0a08c27fe4ece2483f9e581f78c66379a06f96e9c24cd1390594ff939b26f95b"),
    genesis_time_seconds=0,
    slot_milliseconds=6_000,
    committee_size=32,
    slots_per_epoch=8,
    epochs_per_period=8,
    weak_subjectivity_seconds=14 * 86_400,
    forks=[(name, 0, bytes([number, 0, 0, 1])) for number, name in enumerate(NAMES)],
)


def seed(name: str) -> Any:
    return json.loads(Path(CORPUS / name).read_text())


@pytest.fixture(scope="module")
def client() -> LightClient:
    return LightClient.bootstrap(NETWORK, CHECKPOINT, (CORPUS / "seed-bootstrap").read_bytes())


def changed(path: str, value: Any) -> bytes:
    """Return a finality update with one member replaced; its path is joined by dots."""
    update = seed("seed-finality-update")
    *above, last = path.split(".")
    place = update
    for name in above:
        place = place[name]
    place[last] = value
    return json.dumps(update).encode()


HEADER = "data.attested_header"
SLOT = f"{HEADER}.beacon.slot"
STATE_ROOT = f"{HEADER}.beacon.state_root"
EXTRA = f"{HEADER}.execution.extra_data"
FEE = f"{HEADER}.execution.base_fee_per_gas"
BRANCH = "data.finality_branch"
BITS = "data.sync_aggregate.sync_committee_bits"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"null", id="null"),
        pytest.param(b"\xff\xfe{}", id="not UTF-8"),
        pytest.param(b"{}" + b" " * (4 << 20), id="more than 4 MiB"),
        pytest.param(b'{"version":"fulu"}', id="no data"),
        pytest.param(b'{"data":{}}', id="no version"),
        pytest.param(b'{"version":"fulu","version":"fulu","data":{}}', id="a member twice"),
        pytest.param(b'{"version":6,"data":{}}', id="a version that is a number"),
        pytest.param(b'{"version":"fulu","data":' * 10_000, id="deep objects"),
        pytest.param(b'{"version":"fulu","data":' + b"[" * 100_000, id="deep lists"),
        pytest.param(b'{"version":"fulu","data":"' + b"x" * 100_000 + b'"}', id="long text for an object"),
        pytest.param(json.dumps(seed("seed-finality-update")).encode()[:-2], id="cut off"),
        pytest.param(json.dumps(seed("seed-finality-update")).encode() + b"{}", id="something behind it"),
        pytest.param(changed("data", None), id="null data"),
        pytest.param(changed(HEADER, None), id="a header of null"),
        pytest.param(changed(SLOT, 56), id="a JSON number"),
        pytest.param(changed(SLOT, "+56"), id="a sign"),
        pytest.param(changed(SLOT, "0x38"), id="a hexadecimal number"),
        pytest.param(changed(SLOT, " 56"), id="a space"),
        pytest.param(changed(SLOT, ""), id="no digits"),
        pytest.param(changed(SLOT, str(2**64)), id="65 bits"),
        pytest.param(changed(SLOT, "0" * 100_000), id="many zeros"),
        pytest.param(changed(SLOT, "\u0663"), id="digits of another script"),
        pytest.param(changed(STATE_ROOT, "11" * 32), id="bytes without a prefix"),
        pytest.param(changed(STATE_ROOT, "0x0x" + "11" * 31), id="a prefix twice"),
        pytest.param(changed(STATE_ROOT, "0x" + "11" * 31), id="31 bytes"),
        pytest.param(changed(STATE_ROOT, "0x" + "1g" * 32), id="a letter that is no digit"),
        pytest.param(changed(STATE_ROOT, "0x" + "11" * 1_000_000), id="a root of a megabyte"),
        pytest.param(changed(EXTRA, "0x" + "11" * 33), id="33 bytes of extra data"),
        pytest.param(changed(EXTRA, "0x0x"), id="extra data with a prefix twice"),
        pytest.param(changed(FEE, str(2**256)), id="a base fee of 257 bits"),
        pytest.param(changed(FEE, "1" * 100_000), id="a long base fee"),
        pytest.param(changed(f"{HEADER}.execution", {}), id="an empty payload header"),
        pytest.param(changed(f"{HEADER}.execution", None), id="no payload header"),
        pytest.param(changed(f"{HEADER}.execution_branch", {}), id="a branch that is an object"),
        pytest.param(changed(f"{HEADER}.execution_branch", ["0x"]), id="an empty node"),
        pytest.param(changed(BRANCH, ["0x" + "00" * 32] * 20_000), id="a long branch"),
        pytest.param(changed(BRANCH, []), id="an empty branch"),
        pytest.param(changed(BITS, "0x" + "ff" * 5), id="bits for 40 members"),
        pytest.param(changed(BITS, "0x0xffff"), id="bits with a prefix twice"),
        pytest.param(changed(BITS, "0x" + "ff" * 1_000_000), id="a megabyte of bits"),
        pytest.param(changed("data.sync_aggregate.sync_committee_signature", "0x"), id="no signature"),
        pytest.param(changed("data.signature_slot", -1), id="a negative slot"),
    ],
)
def test_what_has_no_form_is_malformed_in_few_words(client: LightClient, answer: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        client.take("finality_update", answer, 100)
    assert (refused.value.rule, refused.value.slot) == ("malformed", None)
    assert len(str(refused.value)) <= WORDS


@pytest.mark.parametrize("version", ["phase0", "osaka", "Fulu", "", "fulu\0", "x" * 100_000])
def test_a_fork_that_is_not_known_is_named_in_few_words(client: LightClient, version: str) -> None:
    with pytest.raises(RefusedError) as refused:
        client.take("finality_update", changed("version", version), 100)
    assert refused.value.rule == "fork"
    assert len(str(refused.value)) <= 2 * WORDS


@pytest.mark.parametrize(
    "pubkeys", [[], ["0x" + "11" * 48] * 31, ["0x" + "11" * 48] * 10_000, ["0x" + "11" * 47] * 32, None]
)
def test_a_committee_has_as_many_keys_as_the_network_says(pubkeys: list[str] | None) -> None:
    answer = seed("seed-bootstrap")
    answer["data"]["current_sync_committee"]["pubkeys"] = pubkeys
    with pytest.raises(RefusedError, match="malformed"):
        LightClient.bootstrap(NETWORK, CHECKPOINT, json.dumps(answer).encode())


def test_other_members_and_digits_in_capitals_are_taken(client: LightClient) -> None:
    update = seed("seed-finality-update")
    update["finalized"], update["data"]["beside"] = True, {"deep": [[[None]]]}
    signature = update["data"]["sync_aggregate"]["sync_committee_signature"]
    update["data"]["sync_aggregate"]["sync_committee_signature"] = "0x" + signature[2:].upper()
    taken, change = client.take("finality_update", json.dumps(update).encode(), 100)
    assert change.optimistic
    assert taken.optimistic.slot > client.optimistic.slot


def test_an_update_is_no_other_kind(client: LightClient) -> None:
    answer = (CORPUS / "seed-optimistic-update").read_bytes()
    with pytest.raises(RefusedError, match="finalized_header"):
        client.take("finality_update", answer, 100)
    with pytest.raises(ValueError, match="no kind of update: bootstrap"):
        client.take("bootstrap", answer, 100)


def test_a_list_of_updates_is_bounded() -> None:
    assert split_updates(b"[]") == []
    answers = split_updates(b'[{"version": "fulu"} , null]')
    assert answers == [b'{"version": "fulu"}', b"null"]
    assert len(split_updates(b"[" + b",".join([b"1"] * 128) + b"]")) == 128
    for text in (
        b"[" + b",".join([b"1"] * 129) + b"]",
        b"{}",
        b"",
        b"[",
        b"[" * 100_000,
        b"[]" + b" " * (4 << 20),
    ):
        with pytest.raises(RefusedError, match="malformed"):
            split_updates(text)


def test_a_light_client_does_not_change(client: LightClient) -> None:
    before = client.encode()
    taken, _ = client.take("finality_update", (CORPUS / "seed-finality-update").read_bytes(), 100)
    assert client.encode() == before != taken.encode()
