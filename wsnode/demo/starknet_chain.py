"""Starknet chain of the demo: classes, contracts, an upgrade, nonces and changing storage."""

import hashlib
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import trio

from wsnode.starknet.block import StarknetHeader, StateDiff, UnverifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.felt import ZERO, felt_text, number_felt
from wsnode.starknet.importer import BlockImporter, head_of
from wsnode.starknet.native import StarknetTries, starknet_diff_commitment
from wsnode.starknet.roots import StateRoots

VERSION = "0.14.1"
GENESIS_TIME = 1_700_000_000
BLOCK_SECONDS = 30
SEQUENCER = number_felt(0x5E9)
GAS_PRICE = {"price_in_fri": "0x1", "price_in_wei": "0x1"}


class StarknetBlockMaker:
    """Maker of valid Starknet blocks for the demo, one after another, from genesis or from the head of a
    stored chain on.
    """

    def __init__(self) -> None:
        self._tries = StarknetTries()
        self._number = 0
        self._hash = self._root = ZERO

    @classmethod
    def after_head(cls, chain: StarknetChain) -> Self:
        maker = cls()
        with chain.reader() as reader:
            maker._tries = StateRoots.of_head(reader).tries
        with chain.snapshot() as snapshot:
            head = head_of(snapshot)
        if head is not None:
            number, maker._hash, maker._root = head
            maker._number = number + 1
        return maker

    def make(self, diff: StateDiff, timestamp: int | None = None) -> UnverifiedStarknetBlock:
        """Return the next block with the changes `diff`; its time follows from its number by default."""
        self._tries.apply(*diff.packed())
        number, parent, old_root = self._number, self._hash, self._root
        self._number, self._root = number + 1, self._tries.root(True)
        self._hash = block_hash(number, parent, self._root)
        commitment = starknet_diff_commitment(*diff.packed(), b"".join(diff.deprecated))
        header = StarknetHeader(
            hash=self._hash,
            number=number,
            parent_hash=parent,
            root=self._root,
            timestamp=GENESIS_TIME + BLOCK_SECONDS * number if timestamp is None else timestamp,
            version=VERSION,
            commitment=commitment,
            more=header_members(diff, commitment),
        )
        return UnverifiedStarknetBlock(
            number=number, header=header, old_root=old_root, new_root=self._root, diff=diff
        )


def header_members(diff: StateDiff, commitment: bytes) -> dict[str, Any]:
    """Return the other members of a header: no transactions, and the lowest gas prices."""
    return {
        "sequencer_address": felt_text(SEQUENCER),
        **{f"{kind}_gas_price": GAS_PRICE for kind in ("l1", "l2", "l1_data")},
        "l1_da_mode": "CALLDATA",
        **{f"{kind}_commitment": felt_text(ZERO) for kind in ("transaction", "event", "receipt")},
        "state_diff_commitment": felt_text(commitment),
        "transaction_count": 0,
        "event_count": 0,
        "state_diff_length": sum(map(len, msgspec.structs.astuple(diff))),
    }


def block_hash(number: int, parent: bytes, root: bytes) -> bytes:
    """Return a unique hash; a real one would commit to transactions."""
    digest = hashlib.sha256(number.to_bytes(8, "big") + parent + root).digest()
    return bytes([digest[0] & 0x03]) + digest[1:]


CHAIN_ID = "WSNODE_DEMO"
BLOCKS = 8
VAULT = number_felt(0x7A17)
COUNTER = number_felt(0xC0C0)
COUNT_KEY = number_felt(1)
COMPILED_HASH = number_felt(0xCA5E)


def build_starknet(data: Path) -> None:
    """Extend the Starknet chain in `data` to its last scripted block."""
    with StarknetChain.open(data, writer=True) as chain:
        sierra, cairo0 = (_class(name) for name in ("counter_sierra.json", "vault_cairo0.json"))
        known = {found.class_hash: found for found in (sierra, cairo0)}
        intake = BlockImporter(chain, known.get)
        intake.begin(0, CHAIN_ID)
        maker = StarknetBlockMaker()
        for diff in _diffs(sierra.class_hash, cairo0.class_hash):
            block = maker.make(diff)
            if block.number >= intake.next_number:
                intake.take(block)
        intake.flush()
        intake.close()


def _class(name: str) -> ContractClass:
    return decode_class((files("wsnode.demo") / name).read_bytes())


def _diffs(sierra: bytes, cairo0: bytes) -> list[StateDiff]:
    declared = [(sierra, COMPILED_HASH)]
    diffs = [
        StateDiff(
            declared=declared, deprecated=[cairo0], deployed=[(VAULT, cairo0)], storage=[_count(VAULT, 1)]
        ),
        StateDiff(
            deployed=[(COUNTER, sierra)], storage=[_count(COUNTER, 1)], nonces=[(VAULT, number_felt(1))]
        ),
        StateDiff(storage=[_count(VAULT, 2), _count(COUNTER, 2)], nonces=[(VAULT, number_felt(2))]),
        StateDiff(replaced=[(VAULT, sierra)], storage=[_count(COUNTER, 3)]),
        StateDiff(),
    ]
    return diffs + [StateDiff(storage=[_count(COUNTER, number)]) for number in range(len(diffs), BLOCKS)]


def _count(contract: bytes, value: int) -> tuple[bytes, bytes, bytes]:
    return contract, COUNT_KEY, number_felt(value)


SECONDS: Final = 5
"""Seconds between two live blocks."""


class LiveStarknet:
    """Task that adds a block to the demo's Starknet chain at a fixed interval; each is verified like the
    blocks of an imported file.
    """

    def __init__(self, chain: StarknetChain, publish: Callable[[], None] = lambda: None) -> None:
        """Prepare to add blocks to `chain`; `publish` is called after each."""
        self._chain = chain
        self._publish = publish
        self._begin()

    def _begin(self) -> None:
        self._maker = StarknetBlockMaker.after_head(self._chain)
        self._intake = BlockImporter(self._chain, lambda _: None)

    async def run(self) -> None:
        """Add a block every `SECONDS` seconds, for ever."""
        while True:
            await trio.sleep(SECONDS)
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self.grow)
            self._publish()

    def grow(self, timestamp: int | None = None) -> None:
        """Add one block with the present time, or with `timestamp`.

        Raises:
            StoreError: There is no room for the block; the next block follows the stored ones.
        """
        try:
            self._add(timestamp)
        except BaseException:
            # The maker and the intake are ahead of the store after a failure, so both begin anew at the
            # stored head.
            self._intake.give_up()
            self._begin()
            raise

    def _add(self, timestamp: int | None) -> None:
        number = self._intake.next_number
        contract = (VAULT, COUNTER)[number % 2]
        diff = StateDiff(storage=[_count(contract, number)], nonces=[(contract, number_felt(number))])
        self._intake.take(self._maker.make(diff, int(time.time()) if timestamp is None else timestamp))
        self._intake.flush()

    def close(self) -> None:
        self._intake.close()
