"""Events, page by page: as another node over the same chain has them, and through reorganisations."""

import random
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.starknet.block_changes import Json
from tests.starknet.conftest import caller_of
from tests.starknet.reference.node import reference_node
from tests.starknet.reference.pair import Pair
from tests.starknet.rpc.conftest import BLOCKS
from tests.starknet.rpc.test_schemas import DOCUMENT, validate
from wsnode.starknet import events as search
from wsnode.starknet.chain import StarknetChain


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A pair whose chain tests change."""
    folder = tmp_path_factory.mktemp("dump")
    with (
        reference_node(8) as reference,
        closing(StarknetChain.open(tmp_path_factory.mktemp("data"), writer=True)) as chain,
    ):
        yield Pair(reference, chain, folder)


def random_filter(chance: random.Random, events: list[Json]) -> Json:
    """Return a filter of addresses and keys, some of which events have."""
    event = chance.choice(events)
    wanted: Json = {}
    if chance.random() < 0.6:
        addresses = [event["from_address"], *(chance.choice(events)["from_address"] for _ in range(2))]
        wanted["address"] = chance.choice([addresses, addresses[0], addresses[:1], [], ["0x5"]])
    if chance.random() < 0.6:
        among = [[key, chance.choice(events)["keys"][0], "0x5"] for key in event["keys"][:5]]
        wanted["keys"] = [
            chance.choice([[], keys, keys[:1]]) for keys in among[: chance.randrange(len(among) + 1)]
        ]
    if chance.random() < 0.5:
        wanted["from_block"] = {"block_number": chance.randrange(BLOCKS + 4)}
    if chance.random() < 0.5:
        block = chance.choice(events)
        by_hash = {"block_hash": block["block_hash"]}
        wanted["to_block"] = chance.choice([by_hash, {"block_number": block["block_number"] + 3}, "latest"])
    return wanted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_pages_are_those_of_the_reference(pair: Pair, seed: int) -> None:
    chance = random.Random(seed)
    wanted = random_filter(chance, pair.events())
    expected = pair.events(**wanted)
    size = chance.choice([1 + len(expected) // 9, 1 + len(expected) // 2, max(len(expected), 1), 1024])
    validate("starknet_getEvents", pair.ask(wanted | {"chunk_size": size}))
    while True:
        page = pair.ask(wanted | {"chunk_size": size})
        assert page["events"] == expected[:size]
        expected = expected[size:]
        assert ("continuation_token" in page) is bool(expected)
        if not expected:
            return
        wanted["continuation_token"] = page["continuation_token"]


def test_both_names_have_equal_answers(pair: Pair) -> None:
    call = caller_of(pair.chain)
    answer = call("alt_getEvents", {"filter": {"chunk_size": 3}})
    assert answer == call("starknet_getEvents", {"filter": {"chunk_size": 3}}) == pair.ask({"chunk_size": 3})
    DOCUMENT.validate("alt_getEvents", answer)


def test_the_pending_block_has_no_events(pair: Pair) -> None:
    assert pair.ask({"chunk_size": 5, "from_block": "pre_confirmed"}) == {"events": []}
    pending = pair.ask({"chunk_size": 1024, "to_block": "pending"})
    assert pending == {"events": pair.events()}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"chunk_size": 1025}, 31),
        ({"chunk_size": 0}, -32602),
        ({}, -32602),
        ({"chunk_size": 5, "keys": [["0x1"] * 17]}, 34),
        ({"chunk_size": 5, "keys": [[]] * 17}, 34),
        ({"chunk_size": 5, "keys": [["0x1"] * 8, ["0x2"] * 9]}, 34),
        ({"chunk_size": 5, "keys": ["0x1"]}, -32602),
        ({"chunk_size": 5, "keys": [["1"]]}, -32602),
        ({"chunk_size": 5, "address": ["0x1"] * 101}, -32602),
        ({"chunk_size": 5, "address": {"0x1": 1}}, -32602),
        ({"chunk_size": 5, "continuation_token": "17"}, 33),
        ({"chunk_size": 5, "from_block": {"block_hash": "0x5"}}, 24),
        ({"chunk_size": 5, "to_block": {"block_hash": "0x5"}}, 24),
        ({"chunk_size": 5, "from_block": "earliest"}, -32602),
    ],
)
def test_what_cannot_be_asked_is_an_error(pair: Pair, wanted: Json, code: int) -> None:
    assert pair.ask(wanted)["code"] == code


def test_a_filter_may_have_as_much_as_the_limits_say(pair: Pair) -> None:
    wanted = {"chunk_size": 1024, "keys": [["0x5"] * 12, *([[]] * 4)], "address": ["0x1"] * 100}
    assert pair.ask(wanted) == {"events": []}


def test_a_token_outlives_the_blocks_behind_its_last_event(changing: Pair) -> None:
    before = changing.events()
    # The page ends in the last block but three, and all blocks above that are replaced.
    seen = [event for event in before if event["block_number"] <= before[-1]["block_number"] - 3]
    page = changing.ask({"chunk_size": len(seen)})
    assert page["events"] == seen
    changing.reference.command("reorganise", depth=3, count=4)
    changing.bring()
    rest = changing.ask({"chunk_size": 1024, "continuation_token": page["continuation_token"]})
    assert page["events"] + rest["events"] == changing.events() != before


def test_a_token_whose_block_was_dropped_is_refused(changing: Pair) -> None:
    before = changing.events()
    page = changing.ask({"chunk_size": len(before) - 1})
    last = page["events"][-1]
    changing.reference.command("reorganise", depth=3, count=4)
    changing.bring()
    refused = changing.ask({"chunk_size": 5, "continuation_token": page["continuation_token"]})
    assert refused == {
        "code": 33,
        "message": "The supplied continuation token is invalid or unknown",
        "data": {"block_number": last["block_number"], "block_hash": last["block_hash"]},
    }


def test_events_are_complete_and_told_once_through_many_reorganisations(changing: Pair) -> None:
    """A client that goes on by tokens and, when its token is refused, forgets what has left the chain."""
    chance = random.Random(1)
    told: list[Json] = []
    wanted: Json = {"chunk_size": 12}
    refused = 0
    for turn in range(20):
        page = changing.ask(wanted)
        if "code" in page:
            refused += 1
            on_chain = {event["block_hash"] for event in changing.events()}
            number = max(event["block_number"] for event in told if event["block_hash"] in on_chain)
            told = [event for event in told if event["block_number"] < number]
            wanted = {"chunk_size": 12, "from_block": {"block_number": number}}
            continue
        told += page["events"]
        assert told == changing.events()[: len(told)]
        if "continuation_token" not in page:
            break
        wanted = {"chunk_size": 12, "continuation_token": page["continuation_token"]}
        # Far enough once that the client has seen blocks which are dropped.
        head = changing.reference.ask("starknet_blockNumber", [])
        depth = head - told[-1]["block_number"] + 1 if turn == 2 else chance.randrange(1, 4)
        changing.reference.command("reorganise", depth=depth, count=depth)
        changing.bring()
    assert told == changing.events()
    assert refused


@pytest.mark.parametrize("size", [1, 7, 1024])
def test_a_search_of_many_blocks_ends_early_and_goes_on(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(search, "MAX_BLOCKS", 3)
    events = pair.events()
    rare = events[-1]["keys"]
    wanted: Json = {"chunk_size": size, "keys": [[key] for key in rare]}
    expected = [event for event in events if event["keys"][: len(rare)] == rare]
    found, pages = [], 0
    while True:
        page = pair.ask(wanted)
        found += page["events"]
        pages += 1
        if "continuation_token" not in page:
            break
        wanted["continuation_token"] = page["continuation_token"]
    assert found == expected
    assert pages >= BLOCKS // 3


def test_a_page_of_large_events_is_shorter(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_BYTES", 0)
    events = pair.events()
    page = pair.ask({"chunk_size": 1024})
    assert page["events"] == events[:1]
    following = pair.ask({"chunk_size": 1024, "continuation_token": page["continuation_token"]})
    assert following["events"] == events[1:2]


@pytest.mark.slow
def test_long_searches_are_made_in_slices(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "WORK_A_SLICE", 1)
    assert pair.ask({"chunk_size": 1024}) == {"events": pair.events()}
