"""The block of another chain on which a chain begins, as its node gives it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.development.playground import Playground, playground
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.node.config import ConfigurationError
from wsnode.node.services.fork_point import fetch_first
from wsnode.upstream.errors import UpstreamError


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path) as opened:
        opened("anvil_mine", "0x3")
        yield opened


@pytest.mark.parametrize("number", [None, 2])
def test_a_block_is_asked_for_once(number: int | None, chain: Playground) -> None:
    client = MemoryClient(chain)
    first = trio.run(fetch_first, client, number)
    assert client.memory.asked["eth_getBlockByNumber"] == 1
    assert first.number == (3 if number is None else number)
    assert first.block_hash == block_hash(first.encoded)
    assert f"0x{first.block_hash.hex()}" == chain.block(first.number)["hash"]


def test_the_contracts_at_the_block_are_those_at_its_hash(chain: Playground) -> None:
    """A reorganisation between two answers must not mix two blocks."""
    named: list[Any] = []

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method in ("eth_getCode", "eth_getProof"):
            named.append(params[-1])
        return result

    client = MemoryClient(chain)
    client.memory.lie = lie
    first = trio.run(fetch_first, client, None)
    assert len(named) == 5
    assert all(each == {"blockHash": f"0x{first.block_hash.hex()}"} for each in named)
    assert first.absent == []


def test_a_block_that_is_not_there_is_named(chain: Playground) -> None:
    with pytest.raises(ConfigurationError, match="http://upstream has no block 9"):
        trio.run(fetch_first, MemoryClient(chain), 9)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("eth_chainId", None),
        ("eth_chainId", "one"),
        ("eth_getBlockByNumber", {"number": "0x3"}),
        ("eth_getBlockByNumber", "0x"),
        ("eth_getBlockReceipts", None),
        ("eth_getBlockReceipts", [{}]),
    ],
)
def test_an_answer_in_another_form_is_an_upstreams_error(method: str, answer: Any, chain: Playground) -> None:
    client = MemoryClient(chain)
    client.memory.lie = lambda asked, _params, result: answer if asked == method else result
    with pytest.raises(UpstreamError, match="invalid"):
        trio.run(fetch_first, client, None)


def test_another_block_than_was_asked_for_is_an_upstreams_error(chain: Playground) -> None:
    other = chain("eth_getBlockByNumber", "0x1", True)
    client = MemoryClient(chain)
    client.memory.lie = lambda asked, _params, result: other if asked == "eth_getBlockByNumber" else result
    with pytest.raises(UpstreamError, match="invalid: block 1 instead of 2"):
        trio.run(fetch_first, client, 2)


@pytest.mark.parametrize(
    "answer", [None, {"current": None}, {"current": []}, {"current": {"blobSchedule": 7}}]
)
def test_rules_in_another_form_say_nothing(answer: Any, chain: Playground) -> None:
    client = MemoryClient(chain)
    client.memory.lie = lambda asked, _params, result: answer if asked == "eth_config" else result
    first = trio.run(fetch_first, client, None)
    assert (first.fork, first.blobs) == ("osaka", None)


@pytest.mark.parametrize(("since", "fork", "most"), [(0, "osaka", 3), (1 << 40, "prague", 9)])
def test_rules_that_began_after_the_block_are_not_those_of_the_block(
    since: int, fork: str, most: int, chain: Playground
) -> None:
    """Mainnet had Prague at the time of the chain's genesis."""
    current = {
        "activationTime": since,
        "precompiles": {"P256VERIFY": "0x" + "00" * 18 + "0100"},
        "blobSchedule": {"baseFeeUpdateFraction": 3338477, "max": 3, "target": 1},
    }
    told = {"eth_config": {"current": current}, "eth_chainId": "0x1"}
    client = MemoryClient(chain)
    client.memory.lie = lambda asked, _params, result: told.get(asked, result)
    first = trio.run(fetch_first, client, 0)
    assert first.blobs is not None
    assert (first.fork, first.blobs["max"]) == (fork, most)
