"""Full folders that keep a window: inside of it they answer as one that keeps all, below by a typed error."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.doctor.damage import Silence
from tests.drawing import examples
from tests.ethereum.live.growing import SECRET, SENDER
from tests.memory_transport import asking
from tests.sync.forks import genesis
from wsnode.demo.genesis import development_genesis
from wsnode.doctor.chain.examine import examine
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.appender import Appender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import block_from_rows
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.state import BlockAttributes, HistoryError, sign_transaction
from wsnode.ethereum.storage.folder_kind import FULL, FolderKind
from wsnode.jsonrpc.dispatcher import Dispatcher

pytestmark = pytest.mark.slow

WINDOW = FolderKind(8)
VALUES = 3
"""Looked at by one slice."""
KEEPERS = [bytes([0xD0 + place]) * 20 for place in range(4)]
KEEPER_CODE = "3660065733ff5b6020356000355560006000a000"
"""Puts the second word of its input into the slot of the first and logs; without input destroys itself."""
RESTING = bytes([0xDF]) * 20
SLOTS = [f"0x{slot:064x}" for slot in range(4)]


def keeping_genesis() -> bytes:
    """Return a genesis whose contracts can destroy themselves: before Cancun."""
    content = json.loads(genesis(merged=True))
    for later in ("cancunTime", "blobSchedule"):
        del content["config"][later]
    code = {"balance": "0x0", "code": f"0x{KEEPER_CODE}", "storage": {SLOTS[0]: SLOTS[1]}}
    content["alloc"] = {keeper.hex(): code for keeper in KEEPERS} | {SENDER.hex(): {"balance": hex(10**30)}}
    content["alloc"][RESTING.hex()] = {"balance": "0x0", "code": "0x00"}
    return json.dumps(content).encode()


class Twins:
    """Two folders of one chain: one keeps all blocks, the other a window."""

    def __init__(self, chains: tuple[Chain, Chain], seed: int) -> None:
        self.plain, self.windowed = chains
        self._appenders = [Appender(chain) for chain in chains]
        self._chosen = random.Random(seed)
        self._made = 0
        self.ask_plain, self.ask = (
            asking(Dispatcher(build_registry(chain), chain.snapshot)) for chain in chains
        )

    @property
    def first(self) -> int:
        with self.windowed.snapshot() as view:
            return view.earliest

    def grow(self, blocks: int) -> None:
        for _ in range(blocks):
            parent = self._appenders[0].tip
            header = header_fields(parent[0])
            self._made += 1
            attributes = BlockAttributes(
                timestamp=header.timestamp + 12,
                fee_recipient=bytes([self._chosen.randrange(3)]) * 20,
                prev_randao=bytes(32),
                parent_beacon_block_root=bytes(32),
                gas_limit=header.gas_limit,
                extra_data=self._made.to_bytes(8, "big"),
            )
            built, refused = self.plain.state.build_block(parent, attributes, self._transactions())
            assert not refused
            for appender, chain in zip(self._appenders, (self.plain, self.windowed), strict=True):
                extension = appender.extend([block_from_rows(chain.spec, built.header, built.body)])
                assert extension.error is None, str(extension.error)
                appender.store(appender.take_pending())

    def shrink(self, depth: int) -> None:
        for chain, appender in zip((self.plain, self.windowed), self._appenders, strict=True):
            chain.unwind(chain.head.number - depth)
            appender.reset()

    def prune(self, slices: int | None = None) -> None:
        """Prune to the window, and of the states all, or some slices."""
        blocks = self.windowed.head.number - (WINDOW.window or 0) + 1 - self.first
        self.windowed.prune(max(blocks, 0))
        while slices is None or slices > 0:
            if not self.windowed.prune_state(VALUES):
                break
            slices = None if slices is None else slices - 1

    def require_equal(self) -> None:
        """Compare all that can be asked about each block of the window."""
        first, last = self.first, int(self.windowed.head.number)
        for number in range(first, last + 1):
            for method, params in questions(number):
                assert self.ask(method, *params) == self.ask_plain(method, *params), (method, params)
        for number in range(first + 1, last + 1):
            traced = ("debug_traceBlockByNumber", hex(number), {"tracer": "prestateTracer"})
            assert self.ask(*traced) == self.ask_plain(*traced)
            witness = ("debug_executionWitness", hex(number))
            assert self.ask(*witness)["result"]["state"] == self.ask_plain(*witness)["result"]["state"]

    def require_refused(self) -> None:
        first = self.first
        for method, params in questions(first - 1) if first else []:
            error = self.ask(method, *params)["error"]
            assert (error["code"], error["data"]) == (
                4444,
                {"requested": hex(first - 1), "earliest": hex(first)},
            ), method

    def _transactions(self) -> list[bytes]:
        head = self.plain.head
        account = self.plain.state.account(SENDER, (head.number, head.hash))
        assert account is not None
        return [
            sign_transaction(
                SECRET,
                chain_id=1,
                nonce=account[0] + place,
                to=self._chosen.choice(KEEPERS),
                value=self._chosen.randrange(2),
                input=self._input(),
                gas=90_000,
                max_fee=10**15,
                max_priority_fee=1,
            )
            for place in range(self._chosen.randrange(4))
        ]

    def _input(self) -> bytes:
        if self._chosen.random() < 0.05:
            return b""
        return bytes(31) + bytes([self._chosen.randrange(4)]) + bytes(31) + bytes([self._chosen.randrange(3)])


def questions(number: int) -> list[tuple[str, list[Any]]]:
    """Return questions about a block, and the state after it."""
    block = hex(number)
    of_keepers = [
        asked
        for keeper in (f"0x{keeper.hex()}" for keeper in KEEPERS)
        for asked in (
            ("eth_getBalance", [keeper, block]),
            ("eth_getCode", [keeper, block]),
            ("eth_getStorageAt", [keeper, SLOTS[1], block]),
            ("eth_getProof", [keeper, SLOTS, block]),
            ("eth_call", [{"to": keeper, "input": SLOTS[2] + SLOTS[1][2:]}, block]),
        )
    ]
    return [
        ("eth_getBlockByNumber", [block, True]),
        ("eth_getBlockReceipts", [block]),
        ("eth_getTransactionCount", [f"0x{SENDER.hex()}", block]),
        ("eth_getLogs", [{"fromBlock": block}]),
        ("eth_feeHistory", ["0x1", block, [50]]),
        ("eth_createAccessList", [{"to": f"0x{KEEPERS[0].hex()}"}, block]),
        *of_keepers,
    ]


@contextmanager
def twins(folder: Path, seed: int = 1) -> Iterator[Twins]:
    text = keeping_genesis()
    with (
        Chain.open(folder / "plain", text, writer=True, durable=False, kind=FULL) as plain,
        Chain.open(folder / "windowed", text, writer=True, durable=False, kind=WINDOW) as windowed,
    ):
        yield Twins((plain, windowed), seed)


@settings(
    max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10**6))
def test_a_window_answers_as_all_blocks_do(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chosen = random.Random(seed)
    with twins(tmp_path_factory.mktemp("twins"), seed) as both:
        for _ in range(6):
            both.grow(chosen.randrange(1, 8))
            both.shrink(chosen.randrange(int(both.windowed.head.number) - both.first + 1) // 2)
            both.grow(1)
            both.prune(chosen.choice([None, 0, 1, 5]))
            both.require_equal()
            both.require_refused()
        both.prune()
        findings = FaultCollector(Silence())
        examine(both.windowed, findings)
        assert findings.faults == {}


def test_the_chain_can_be_taken_back_to_its_first_block_and_no_further(tmp_path: Path) -> None:
    with twins(tmp_path) as both:
        both.grow(30)
        both.prune()
        both.shrink(7)
        both.require_equal()
        assert both.first == int(both.windowed.head.number) == 23
        with pytest.raises(HistoryError) as refused:
            both.windowed.state.rewind(22)
        assert (refused.value.requested, refused.value.earliest) == (22, 23)
        both.grow(20)
        both.prune()
        both.require_equal()


def test_capabilities_say_what_there_is(tmp_path: Path) -> None:
    with twins(tmp_path) as both:
        both.grow(20)
        both.prune()
        told = both.ask("eth_capabilities")["result"]
    stored = {
        "disabled": False,
        "oldestBlock": "0xd",
        "deleteStrategy": {"type": "window", "retentionBlocks": "0x8"},
    }
    kinds = ("state", "stateproofs", "tx", "logs", "blocks", "receipts")
    assert {kind: told[kind] for kind in kinds} == dict.fromkeys(kinds, stored)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("debug_traceBlockByNumber", ["0xd"]),
        ("debug_executionWitness", ["0xd"]),
        ("trace_block", ["0xd"]),
        ("ots_searchTransactionsBefore", [f"0x{KEEPERS[0].hex()}", 14, 25]),
        ("ots_searchTransactionsAfter", [f"0x{KEEPERS[0].hex()}", 12, 25]),
        ("ots_getContractCreator", [f"0x{RESTING.hex()}"]),
        ("ots_getTransactionBySenderAndNonce", [f"0x{SENDER.hex()}", 0]),
        ("debug_getModifiedAccountsByNumber", [12, 14]),
        ("debug_getModifiedAccountsByNumber", [13]),
        ("wsnode_getLogsPage", [{"fromBlock": "0xc"}]),
        ("trace_filter", [{"fromBlock": "0xc", "toBlock": "0xe"}]),
    ],
)
def test_what_leads_below_the_window_is_a_typed_error(tmp_path: Path, method: str, params: list[Any]) -> None:
    with twins(tmp_path) as both:
        both.grow(20)
        both.prune()
        error = both.ask(method, *params)["error"]
        assert (error["code"], error.get("data")) == (4444, {"requested": "0xc", "earliest": "0xd"}), error


def test_a_folder_of_many_blocks_stays_as_large_as_its_window(tmp_path: Path) -> None:
    sizes = []
    with twins(tmp_path) as both:
        for _ in range(10):
            for _ in range(10):
                both.grow(4)
                both.prune()
            stored = both.windowed.folder
            sizes.append((stored.chain / "data.mdb").stat().st_size)
    assert sizes[-1] == sizes[4], sizes


def test_a_process_killed_while_it_prunes_leaves_a_folder_that_goes_on(tmp_path: Path) -> None:
    with twins(tmp_path) as both:
        both.grow(60)
    for lines in (1, 4, 9, 20):
        command = [sys.executable, "-c", PRUNING, str(tmp_path / "windowed")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for _ in range(lines):
                assert process.stdout.readline()
                # It is killed in the step that this allows, however late, so that there is more to prune.
                process.stdin.write(b"\n")
            process.kill()
        with twins(tmp_path) as both:
            both.require_equal()
            both.require_refused()
    with twins(tmp_path) as both:
        assert both.first > 0
        both.prune()
        both.grow(3)
        both.require_equal()


PRUNING = """
import sys
from pathlib import Path
from wsnode.ethereum.chain import Chain
with Chain.open(Path(sys.argv[1]), writer=True) as chain:
    for _ in range(50):
        chain.prune(1)
        while chain.prune_state(1):
            print(flush=True)
            sys.stdin.readline()
"""


def test_a_folder_stops_growing_once_the_rings_of_the_system_contracts_are_full(tmp_path: Path) -> None:
    text, sizes = development_genesis([SENDER], 10**24, 1), []
    with Chain.open(tmp_path, text, writer=True, durable=False, kind=WINDOW) as chain:
        appender = Appender(chain)
        for number in range(1, 24_001):
            header = header_fields(appender.tip[0])
            attributes = BlockAttributes(
                timestamp=header.timestamp + 1,
                fee_recipient=bytes(20),
                prev_randao=bytes(32),
                gas_limit=header.gas_limit,
                parent_beacon_block_root=number.to_bytes(32, "big"),
            )
            built, _ = chain.state.build_block(appender.tip, attributes, [])
            extension = appender.extend([block_from_rows(chain.spec, built.header, built.body)])
            assert extension.error is None, str(extension.error)
            appender.store(appender.take_pending())
            if number > 8:
                chain.prune(1)
                while chain.prune_state(256):
                    pass
            if number % 2_000 == 0:
                sizes.append((chain.folder.chain / "data.mdb").stat().st_size)
    filling, full = sizes[3] - sizes[0], sizes[-1] - sizes[-3]
    assert full < filling / 100, sizes  # LMDB still takes a page now and then: 4 KiB of 7 MiB
