"""The light client against other people's vectors: each step is taken or refused by the rule that they name.

A vector says what comes of a step by the specification and by the stricter rules that are used here. Where
the two differ, the light client is behind the specification, and never ahead of it.
"""

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.vector_files import find_vectors, require_vectors
from wsnode._native.beacon import BeaconNetwork, LightClient, LightClientRowError, ProvedHeader, RefusedError

FORKS = ("altair", "bellatrix", "capella", "deneb", "electra", "fulu", "gloas")
NEVER = 2**64 - 1
DAMAGED = 100
"""How often each object is tried with one of its digits changed."""

Json = dict[str, Any]


def files() -> list[Path]:
    # Of the fork to Gloas there is one beside the tests; no reference test has it.
    roots = [root for name in ("beacon", "light-client") if (root := find_vectors(name)) is not None]
    return [path for root in roots for path in sorted(root.rglob("*.json"))]


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


each_vector = pytest.mark.parametrize("path", files(), ids=name_of)


@cache
def read(path: Path) -> Json:
    vector: Json = json.loads(path.read_text())
    return vector


def unprefixed(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def network_of(vector: Json) -> BeaconNetwork:
    config = vector["network"]
    forks = [("phase0", 0, unprefixed(config["GENESIS_FORK_VERSION"]))]
    for name in FORKS:
        if (epoch := int(config.get(f"{name.upper()}_FORK_EPOCH", NEVER))) != NEVER:
            forks.append((name, epoch, unprefixed(config[f"{name.upper()}_FORK_VERSION"])))
    return BeaconNetwork(
        genesis_validators_root=unprefixed(vector["genesis_validators_root"]),
        genesis_time_seconds=0,
        slot_milliseconds=12_000,
        committee_size=int(config["SYNC_COMMITTEE_SIZE"]),
        slots_per_epoch=int(config["SLOTS_PER_EPOCH"]),
        epochs_per_period=int(config["EPOCHS_PER_SYNC_COMMITTEE_PERIOD"]),
        weak_subjectivity_seconds=14 * 86_400,
        forks=forks,
    )


def summary(client: LightClient) -> Json:
    """Return what a vector says of a store."""

    def header(proved: ProvedHeader) -> Json:
        block_hash = proved.block_hash or bytes(32)
        return {
            "slot": proved.slot,
            "root": f"0x{proved.root.hex()}",
            "block_hash": f"0x{block_hash.hex()}",
        }

    return {
        "finalized": header(client.finalized),
        "optimistic": header(client.optimistic),
        "period": client.period,
        "next_known": client.next_committee_known,
    }


def answer_of(step: Json) -> bytes:
    return json.dumps(step["object"]).encode()


def begin(vector: Json) -> LightClient:
    checkpoint = unprefixed(vector["checkpoint"])
    return LightClient.bootstrap(network_of(vector), checkpoint, answer_of(vector["bootstrap"]))


def take(client: LightClient, step: Json) -> tuple[LightClient, Json]:
    """Return the light client after a step, and what came of it in a vector's words."""
    if step["kind"] == "force_update":
        return client, {"outcome": "ignored", "store": summary(client)}
    try:
        client, _ = client.take(step["kind"], answer_of(step), int(step["current_slot"]))
    except RefusedError as refused:
        return client, {"outcome": "refused", "rule": refused.rule, "store": summary(client)}
    return client, {"outcome": "taken", "store": summary(client)}


def walk(vector: Json) -> Iterator[tuple[LightClient, Json]]:
    """Yield each step that is an object, with the light client before it."""
    client = begin(vector)
    for step in vector["steps"]:
        if "object" in step:
            yield client, step
        client, _ = take(client, step)


@pytest.mark.slow
@each_vector
def test_each_step_comes_out_as_the_vector_says(path: Path) -> None:
    vector = read(path)
    expected = vector["bootstrap"]["wsnode"]
    if expected["outcome"] == "refused":
        with pytest.raises(RefusedError) as refused:
            begin(vector)
        assert refused.value.rule == expected["rule"]
        return
    client = begin(vector)
    assert {"outcome": "taken", "store": summary(client)} == expected
    for step in vector["steps"]:
        client, outcome = take(client, step)
        assert outcome == step["wsnode"], step.get("name", step["kind"])


@pytest.mark.slow
@each_vector
def test_it_is_never_ahead_of_the_specification_and_takes_nothing_that_it_refuses(path: Path) -> None:
    vector = read(path)
    if vector["bootstrap"]["specification"]["outcome"] == "refused":
        with pytest.raises(RefusedError) as refused:
            begin(vector)
        assert refused.value.rule == vector["bootstrap"]["specification"]["rule"]
        return
    client, is_behind = begin(vector), False
    for step in vector["steps"]:
        before = summary(client)
        client, outcome = take(client, step)
        specified, store = step["specification"], outcome["store"]
        if specified["outcome"] == "refused":
            assert outcome["outcome"] == "refused"
            assert store == before
        for name in ("finalized", "optimistic"):
            assert store[name]["slot"] <= specified["store"][name]["slot"]
        is_less = store != specified["store"]
        if is_less and not is_behind:
            # Only where the specification needs less: a forced update, or less than two thirds.
            assert step["kind"] == "force_update" or is_below_two_thirds(vector, step)
        is_behind = is_less


def is_below_two_thirds(vector: Json, step: Json) -> bool:
    bits = int(step["object"]["data"]["sync_aggregate"]["sync_committee_bits"], 16)
    return bits.bit_count() * 3 < 2 * int(vector["network"]["SYNC_COMMITTEE_SIZE"])


@pytest.mark.slow
@each_vector
def test_an_object_with_a_digit_changed_is_refused(path: Path) -> None:
    vector = read(path)
    random_ = random.Random(name_of(path))
    checkpoint, network = unprefixed(vector["checkpoint"]), network_of(vector)
    for _ in range(DAMAGED):
        with pytest.raises(RefusedError):
            LightClient.bootstrap(network, checkpoint, damaged(vector["bootstrap"], random_))
    if vector["bootstrap"]["wsnode"]["outcome"] == "refused":
        return
    for client, step in walk(vector):
        if step["wsnode"]["outcome"] == "taken":
            for _ in range(DAMAGED):
                answer = damaged(step, random_)
                with pytest.raises(RefusedError):
                    client.take(step["kind"], answer, int(step["current_slot"]))


def damaged(step: Json, random_: random.Random) -> bytes:
    """Return an object's answer with a digit of one of its values changed."""
    text = json.dumps(step["object"]["data"])
    while True:
        at = random_.randrange(len(text))
        start, end = text.rfind('"', 0, at), text.find('"', at)
        value = text[start + 1 : end]
        digits = "0123456789" if value.isdigit() else "0123456789abcdef"
        is_value = value.isdigit() or (value.startswith("0x") and at > start + 2)
        if is_value and text[at] in digits:
            other = random_.choice(digits.replace(text[at], ""))
            version = json.dumps(step["object"]["version"])
            return f'{{"version": {version}, "data": {text[:at]}{other}{text[at + 1 :]}}}'.encode()


@pytest.mark.slow
@each_vector
def test_a_stored_row_is_the_same_light_client(path: Path) -> None:
    vector = read(path)
    if vector["bootstrap"]["wsnode"]["outcome"] == "refused":
        return
    client = begin(vector)
    for step in vector["steps"]:
        again = LightClient.decode(network_of(vector), client.encode())
        assert summary(again) == summary(client)
        assert (again.checkpoint, again.signers) == (client.checkpoint, client.signers)
        assert again.encode() == client.encode()
        client, _ = take(client, step)


def test_a_row_of_another_network_or_release_or_with_a_bit_changed_is_refused() -> None:
    vector = read(require_vectors("beacon/story-fulu/late.json"))
    row = begin(vector).encode()
    other = {**vector, "genesis_validators_root": "0x" + "11" * 32}
    for network, bad, reason in (
        (network_of(other), row, "another network"),
        (network_of(vector), b"\x02" + row[1:], "version 2, which a later release has written"),
        (network_of(vector), row[:-1], "damaged"),
        (network_of(vector), b"\x01", "damaged"),
        (network_of(vector), b"", "damaged"),
        *((network_of(vector), flipped(row, at), "damaged") for at in range(1, len(row), 97)),
    ):
        with pytest.raises(LightClientRowError, match=reason):
            LightClient.decode(network, bad)


def flipped(row: bytes, at: int) -> bytes:
    return row[:at] + bytes([row[at] ^ 1]) + row[at + 1 :]
