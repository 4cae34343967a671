"""A changed chain id: queries, signatures, calls and reads of earlier blocks have the right one."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.development.playground import CREATOR, STRANGER, Playground, RefusedError, playground
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage import chain_ids
from wsnode.ethereum.storage.chain_ids import MAX_CHANGES
from wsnode.store.environment import Writer

# Returns the chain id.
CHAIN_ID = "0x465f5260205ff3"
# Writes the chain id into slot 0.
KEEPS_IT = "0x465f5500"
# Writes the id of the chain in a folder for each line that it reads.
READER = """
import sys
from pathlib import Path
from wsnode.ethereum.chain import Chain
with Chain.open(Path(sys.argv[1]), writer=False) as chain:
    for _ in sys.stdin:
        chain.head
        print(chain.spec.chain_id, flush=True)
"""
CONTRACT = "0x" + "c1" * 20
FIRST, OTHER = 31337, 5


def ids(chain: Playground) -> set[int]:
    """Return the chain id, as each way to ask for it tells it."""
    called = [
        chain("eth_call", {"to": STRANGER}, block, {STRANGER: {"code": CHAIN_ID}})
        for block in ("0x0", "latest", "pending")
    ]
    simulated = chain(
        "eth_simulateV1",
        {
            "blockStateCalls": [
                {"stateOverrides": {STRANGER: {"code": CHAIN_ID}}, "calls": [{"to": STRANGER}]}
            ]
        },
    )
    return {
        *(int(value, 16) for value in called),
        int(simulated[0]["calls"][0]["returnData"], 16),
        int(chain("eth_chainId"), 16),
        int(chain("net_version")),
        chain("anvil_metadata")["chainId"],
        chain("anvil_nodeInfo")["environment"]["chainId"],
        int(chain("eth_config")["current"]["chainId"], 16),
        int(chain("eth_fillTransaction", {"from": CREATOR, "to": STRANGER})["tx"]["chainId"], 16),
    }


def sent_id(chain: Playground, **members: Any) -> int:
    """Send a transaction, and return the chain that it was signed for."""
    sent = chain.send(**members)
    receipt = chain.receipt(sent)
    assert receipt is not None
    assert receipt["status"] == "0x1"
    return int(chain("eth_getTransactionByHash", sent)["chainId"], 16)


def traced(chain: Playground, number: int) -> Any:
    """Return what a block's transactions wrote, run again."""
    options = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
    return [
        trace["result"]["post"].get(CONTRACT, {}).get("storage")
        for trace in chain("debug_traceBlockByNumber", hex(number), options)
    ]


def word(number: int) -> str:
    return f"0x{number:064x}"


@contextmanager
def reader_of(folder: Path) -> Iterator[Callable[[], int]]:
    """Return what asks another process for the id that it reads in the folder."""
    command = [sys.executable, "-c", READER, str(folder / "eth")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def seen_id() -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield seen_id
        process.stdin.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("fees", [{}, {"gasPrice": hex(10**10)}])
def test_everything_goes_over_to_the_new_chain(chain: Playground, fees: dict[str, str]) -> None:
    assert ids(chain) == {FIRST}
    signed = chain("eth_signTransaction", {"from": CREATOR, "to": STRANGER, "value": "0x1"} | fees)
    assert chain("anvil_setChainId", OTHER) is None
    assert ids(chain) == {OTHER}
    assert sent_id(chain, **fees) == OTHER
    with pytest.raises(RefusedError, match=f"invalid chain id for signer: have {FIRST} want {OTHER}"):
        chain("eth_sendRawTransaction", signed)
    with pytest.raises(RefusedError, match=rf"chainId does not match node's \(have={FIRST}, want={OTHER}\)"):
        chain.send(chainId=hex(FIRST))


@pytest.mark.parametrize("chain_id", [1, 2**32, 2**63, 2**64 - 1])
def test_any_id_of_64_bits_will_do(chain: Playground, chain_id: int) -> None:
    chain("anvil_setChainId", hex(chain_id))
    assert ids(chain) == {chain_id}
    for fees in ({}, {"gasPrice": hex(10**10)}):
        assert sent_id(chain, **fees) == chain_id
    with pytest.raises(RefusedError):
        chain("anvil_setChainId", 2**64)
    assert ids(chain) == {chain_id}


def test_earlier_blocks_keep_theirs(chain: Playground) -> None:
    chain("anvil_setCode", CONTRACT, KEEPS_IT)
    assert sent_id(chain, to=CONTRACT, value=None) == FIRST
    for number, chain_id in enumerate((5, 6, 6, 7), start=2):
        chain("anvil_setChainId", chain_id)
        assert sent_id(chain, to=CONTRACT, value=None) == chain_id
        assert chain("eth_getStorageAt", CONTRACT, "0x0", hex(number)) == word(chain_id)
    # The third one found the value that it writes.
    expected: list[Any] = [{word(0): word(each)} for each in (FIRST, 5, 6, 6, 7)]
    assert [traced(chain, number) for number in (1, 2, 3, 5)] == [
        [expected[0]],
        [expected[1]],
        [expected[2]],
        [expected[4]],
    ]


def test_what_waits_for_the_old_chain_is_dropped(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    waiting = chain.send()
    chain("anvil_impersonateAccount", STRANGER)
    chain("anvil_setBalance", STRANGER, 10**18)
    chain.send(STRANGER)
    assert len(chain.block("pending")["transactions"]) == 2
    chain("anvil_setChainId", OTHER)
    assert chain.pool == (0, 0)
    assert chain.block("pending")["transactions"] == []
    assert chain("eth_getTransactionByHash", waiting) is None
    snapshot = chain("evm_snapshot")
    chain.send()
    # Nor does it come back with a snapshot, or when its block leaves the chain.
    chain("anvil_setChainId", FIRST)
    assert (chain("evm_revert", snapshot), chain.pool) == (True, (0, 0))
    chain("evm_setAutomine", True)
    chain.send()
    chain("anvil_setChainId", OTHER)
    chain("wsnode_reorg", {"depth": 1})
    assert (chain.block()["transactions"], chain.pool) == ([], (0, 0))


def test_going_back_does_not_change_it(chain: Playground) -> None:
    snapshot = chain("evm_snapshot")
    chain("anvil_mine", 2)
    chain("anvil_setChainId", OTHER)
    chain("anvil_mine", 2)
    chain("anvil_setChainId", 6)
    chain.send()
    for method, argument in (("anvil_rollback", 2), ("evm_revert", snapshot)):
        chain(method, argument)
        assert ids(chain) == {6}
        assert sent_id(chain) == 6
    chain("anvil_reset")
    assert ids(chain) == {6}
    assert sent_id(chain) == 6


def test_a_kept_chain_keeps_its_ids(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        chain("anvil_setCode", CONTRACT, KEEPS_IT)
        sent_id(chain, to=CONTRACT, value=None)
        chain("anvil_setChainId", OTHER)
        # A reader in another process sees it too, from the next look on.
        with reader_of(tmp_path) as seen_id:
            assert seen_id() == OTHER
            chain("anvil_setChainId", 6)
            assert seen_id() == 6
        sent_id(chain, to=CONTRACT, value=None)
    with playground(tmp_path) as chain:
        assert ids(chain) == {6}
        assert sent_id(chain) == 6
        assert [traced(chain, number) for number in (1, 2)] == [
            [{word(0): word(FIRST)}],
            [{word(0): word(6)}],
        ]


def test_a_snapshot_has_the_id_of_its_moment(tmp_path: Path) -> None:
    with playground(tmp_path):
        pass
    with Chain.open(tmp_path / "eth", writer=True, durable=False) as kept:
        with kept.snapshot() as first:
            kept.set_chain_id(OTHER)
            with kept.snapshot() as second:
                kept.set_chain_id(6)
                assert (first.chain_id, second.chain_id) == (FIRST, OTHER)
        with kept.snapshot() as last:
            assert last.chain_id == 6


def test_a_dropped_block_is_traced_under_its_own(chain: Playground) -> None:
    chain("evm_mine")
    chain("anvil_setCode", CONTRACT, KEEPS_IT)
    sent_id(chain, to=CONTRACT, value=None)
    dropped = chain.block()["hash"]
    chain("anvil_setChainId", OTHER)
    chain("wsnode_reorg", {"depth": 1})
    (trace,) = chain("debug_traceBlockByHash", dropped)
    assert trace["result"]["structLogs"][1]["stack"][-1] == hex(FIRST)


@pytest.mark.slow
def test_changes_are_bounded(tmp_path: Path) -> None:
    with playground(tmp_path) as chain:
        chain("anvil_mine", MAX_CHANGES)
    with Chain.open(tmp_path / "eth", writer=True, durable=False) as kept:

        def give_each_block_its_own(writer: Writer) -> None:
            for number in range(1, MAX_CHANGES + 1):
                chain_ids.change(writer, number, number)

        kept.store.write(give_each_block_its_own)
    with playground(tmp_path) as chain:
        assert ids(chain) == {MAX_CHANGES}
        with pytest.raises(RefusedError, match=f"changed {MAX_CHANGES} times") as refused:
            chain("anvil_setChainId", 1)
        assert refused.value.code == -32602
        assert ids(chain) == {MAX_CHANGES}
        # There is room again when the blocks of some are gone.
        chain("anvil_rollback", 1)
        chain("anvil_setChainId", OTHER)
        assert ids(chain) == {OTHER}
