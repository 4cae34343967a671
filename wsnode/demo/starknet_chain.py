"""Starknet chain of the demo: classes, contracts, an upgrade, nonces and changing storage."""

import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Final

import trio

from wsnode.demo.starknet_blocks import StarknetBlockMaker
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.felt import number_felt
from wsnode.starknet.importer import BlockImporter
from wsnode.starknet.state_diff import StateDiff

CHAIN_ID = "WSNODE_DEMO"
BLOCKS = 8
VAULT = number_felt(0x7A17)
COUNTER = number_felt(0xC0C0)
COUNT_KEY = number_felt(1)
COMPILED_HASH = number_felt(0xCA5E)


def build_starknet(data: Path) -> None:
    """Bring the Starknet chain in `data` to its last scripted block."""
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
    """Task that adds counting blocks to the Starknet chain, verified as those of a dump are."""

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
            StoreError: There is no room for it; the next block follows the stored ones.
        """
        try:
            self._add(timestamp)
        except BaseException:
            # The maker's and the intake's state are ahead of the store by now.
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
        """Release the chain."""
        self._intake.close()
