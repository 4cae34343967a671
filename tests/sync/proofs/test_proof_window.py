"""How far back upstreams prove, and what becomes of calls at blocks that they prove no more."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.development.playground import CREATOR, ETHER, GENESIS_TIME, Playground, playground
from tests.sync.proofs.windows import Window, genesis_of, window_of
from wsnode.node.config import ConfigurationError
from wsnode.node.services.fork_point import fetch_first
from wsnode.sync.proofs.proof_window import MAX_QUESTIONS, oldest_proved
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

BLOCKS = 40


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    with playground(tmp_path_factory.mktemp("theirs")) as chain:
        chain("anvil_mine", hex(BLOCKS))
        yield chain


def proving_from(chain: Playground, first: Callable[[], int], name: str = "upstream") -> MemoryClient:
    """Return a client of a node that proves the states of blocks from a number on."""
    client = MemoryClient(chain, name)

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_getProof" and number_of(chain, params[2]) < first():
            raise UpstreamRefusedError(-32000, "missing trie node")
        return result

    client.memory.lie = lie
    return client


def number_of(chain: Playground, block: Any) -> int:
    if isinstance(block, str):
        return int(block, 16)
    return int(chain("eth_getBlockByHash", block["blockHash"], False)["number"], 16)


@contextmanager
def opened(folder: Path, chain: Playground, *clients: MemoryClient) -> Iterator[Window]:
    with window_of(folder / "ours", chain, genesis_of(10_000 * ETHER, GENESIS_TIME), clients) as light:
        yield light


@pytest.mark.parametrize("first", [0, 1, 2, 7, 23, 39, 40])
def test_the_oldest_block_that_a_node_proves_is_found(chain: Playground, first: int) -> None:
    client = proving_from(chain, lambda: first)
    assert trio.run(oldest_proved, client) == first
    assert client.memory.asked.total() <= MAX_QUESTIONS


def test_a_node_that_proves_nothing_has_no_oldest_block(chain: Playground) -> None:
    assert trio.run(oldest_proved, proving_from(chain, lambda: BLOCKS + 1)) is None
    gone = MemoryClient(chain)
    gone.memory.is_gone = True
    assert trio.run(oldest_proved, gone) is None


def test_a_node_that_fails_meanwhile_proves_what_it_has_proved(chain: Playground) -> None:
    client = MemoryClient(chain)

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_getProof" and int(params[2], 16) < 30:
            raise UpstreamError("timeout")
        return result

    client.memory.lie = lie
    assert trio.run(oldest_proved, client) == 32


def test_an_error_names_the_oldest_block_that_is_proved(tmp_path: Path, chain: Playground) -> None:
    one, other = proving_from(chain, lambda: 31, "one"), proving_from(chain, lambda: 25, "other")
    with opened(tmp_path, chain, one, other) as light:
        error = light.error("eth_getBalance", CREATOR, "0x3")
        assert error["code"] == -32002
        assert error["data"]["oldest"] == hex(25)
        assert error["message"].endswith("missing trie node (-32000); the oldest that is proved is block 25")
        before = one.memory.asked.total()
        assert light.error("eth_getBalance", CREATOR, "0x4")["data"]["oldest"] == hex(25)
        # One for the proof itself: what was found is kept.
        assert one.memory.asked["eth_blockNumber"] == 1
        assert one.memory.asked.total() - before <= 2
        assert light("eth_getBalance", CREATOR, hex(25)) == chain("eth_getBalance", CREATOR, hex(25))


def test_an_upstream_without_proofs_is_not_searched(tmp_path: Path, chain: Playground) -> None:
    client = MemoryClient(chain)

    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_getProof":
            raise UpstreamRefusedError(-32601, "the method eth_getProof does not exist")
        return result

    client.memory.lie = lie
    with opened(tmp_path, chain, client) as light:
        error = light.error("eth_getBalance", CREATOR, "latest")
        assert "oldest" not in error["data"]
        assert client.memory.asked["eth_blockNumber"] == 0


def test_a_fork_of_a_block_that_is_not_proved_names_one_that_is(chain: Playground) -> None:
    with pytest.raises(
        ConfigurationError, match=r"proves nothing of block 5: .*, but of block 17 and later ones"
    ):
        trio.run(fetch_first, proving_from(chain, lambda: 17), 5)


def test_the_latest_block_moves_on_where_it_is_proved_no_more(tmp_path: Path) -> None:
    """As behind a node that proves its head alone, and has a new one before the question arrives."""
    with playground(tmp_path / "theirs") as chain:
        chain("anvil_mine", "0x5")
        client = proving_from(chain, lambda: 0)
        with opened(tmp_path, chain, client) as light:
            old = chain.block()["hash"]
            chain.send(value=hex(ETHER))

            def lie(method: str, params: list[Any], result: Any) -> Any:
                if method == "eth_getProof" and params[2] == {"blockHash": old}:
                    light.follow()
                    raise UpstreamRefusedError(
                        -32000, "distance to target block exceeds maximum proof window"
                    )
                return result

            client.memory.lie = lie
            assert light("eth_getBalance", CREATOR, "latest") == chain("eth_getBalance", CREATOR, "latest")
            # A block that was named stays the one that is meant.
            assert light.error("eth_getBalance", CREATOR, {"blockHash": old})["code"] == -32002


CHAINED = [f"0x{byte:02x}" + "cc" * 19 for byte in range(0xA0, 0xA5)]
"""Contracts each of which calls the next one, so that each is a round of its own; the last one stores."""


def chained_code(following: str | None) -> str:
    """Return code that passes on what the next contract returns, or returns the value of slot 0."""
    read = "5f545f52" if following is None else f"60205f5f5f5f73{following[2:]}5af150"
    return f"0x{read}60205ff3"


def refusing(chain: Playground, light: list[Window], old: list[str], after: int) -> MemoryClient:
    """Return a client of a node that has the old blocks' states for some questions more, and follows then."""
    client = MemoryClient(chain)

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_createAccessList":
            raise UpstreamRefusedError(-32601, "the method does not exist")
        if method != "eth_getProof" or params[2] not in [{"blockHash": each} for each in old]:
            return result
        if client.memory.asked["eth_getProof"] <= after:
            return result
        light[0].follow()
        raise UpstreamRefusedError(-32000, "missing trie node")

    client.memory.lie = lie
    return client


@pytest.fixture
def chained(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path / "theirs") as chain:
        for address, following in zip(CHAINED, [*CHAINED[1:], None], strict=True):
            chain("anvil_setCode", address, chained_code(following))
        chain("anvil_setStorageAt", CHAINED[-1], "0x0", "0x" + "07".rjust(64, "0"))
        chain("anvil_mine", "0x3")
        yield chain


@pytest.mark.parametrize("after", [0, 1, 2, 3, 4])
def test_a_long_call_begins_again_at_the_head_in_whatever_round_it_is(
    tmp_path: Path, chained: Playground, after: int
) -> None:
    light: list[Window] = []
    client = refusing(chained, light, [chained.block()["hash"]], after)
    with opened(tmp_path, chained, client) as window:
        light.append(window)
        # What is set changes the state of the newest block in place.
        chained("evm_mine")
        chained("anvil_setStorageAt", CHAINED[-1], "0x0", "0x" + "08".rjust(64, "0"))
        chained("evm_mine")
        # Nothing of it is of the block that it began with.
        assert int(window("eth_call", {"to": CHAINED[0]}, "latest"), 16) == 8


def test_a_call_begins_again_once(tmp_path: Path, chained: Playground) -> None:
    client = MemoryClient(chained)
    first = chained.head
    with opened(tmp_path, chained, client) as window:
        chained("anvil_mine", "0x3")
        heads = iter(range(first + 1, first + 4))

        def lie(method: str, params: list[Any], result: Any) -> Any:
            if method == "eth_getProof":
                if isinstance(params[2], dict):
                    # By the next question of the call the head is another one again.
                    window.follow(next(heads))
                raise UpstreamRefusedError(-32000, "missing trie node")
            return result

        client.memory.lie = lie
        error = window.error("eth_getBalance", CREATOR, "latest")
        assert error["code"] == -32002
        assert error["data"]["block"]["number"] == hex(first + 1)
