"""A node that makes and serves blocks of a family, several a second, and reorganises them."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
import trio

from tests.families.built_blocks import CODE, CONTRACT, MAKERS, Block, Place
from tests.sync.follow.world import HEADS
from tests.upstream.providers import Answer, Error, SocketProvider
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.head import Head
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal

FIRST: Final = 50_000_000
HASH_DIGITS: Final = 64
FINAL: Final = 4
"""Blocks at the start of which the last is final."""
TOGETHER: Final = {"arbitrum": 5, "base": 5, "bsc": 2}
"""How many blocks of a chain have one time, where that is more than one."""


STATE: Final = ("eth_getProof", "eth_getCode")
OWN: Final = hexadecimal(CONTRACT)


class Made(NamedTuple):
    """A block of a node."""

    head: Head
    block: Block


class FastNode:
    """An upstream that makes blocks of a chain; one that `lies` changes a log."""

    def __init__(
        self,
        nursery: trio.Nursery,
        name: str,
        provider: Callable[[trio.Nursery, Answer], SocketProvider] = SocketProvider,
        *,
        lies: bool = False,
    ) -> None:
        self._make, self._together = MAKERS[name], TOGETHER.get(name, 1)
        self.network = find_network(name)
        self.provider = provider(nursery, self._answer)
        self._lies = lies
        self.blocks: list[Made] = []
        self._places: dict[str, int] = {}
        self._salt = 0
        self._answers: dict[str, Callable[..., Any]] = {
            "eth_getBlockByNumber": lambda made: self._header(made.head),
            "debug_getRawBlock": lambda made: hexadecimal(made.block.encoded),
            "eth_getBlockReceipts": self._receipts,
            "eth_getProof": lambda made, address, slots: made.block.state.proof(address, slots),
            "eth_getCode": lambda _made, address: hexadecimal(CODE if address == OWN else b""),
        }

    @property
    def head(self) -> Head:
        return self.blocks[-1].head

    def repeat(self, other: "FastNode") -> None:
        """Have the blocks of another node, now and later."""
        self.blocks, self._places = other.blocks, other._places

    def grow(self, count: int = 1) -> None:
        for _ in range(count):
            self._salt += 1
            parent = self.head.hash if self.blocks else bytes(32)
            height = FIRST + len(self.blocks)
            time = 1_800_000_000 + len(self.blocks) // self._together
            block = self._make(Place(parent, height, time, self._salt))
            made = block_hash(block.encoded)
            assert made is not None
            self._places[hexadecimal(made)] = len(self.blocks)
            self.blocks.append(Made(Head(BlockNumber(height), Hash32(made)), block))

    def reorganise(self, depth: int) -> None:
        """Have other blocks in the place of the last ones, and one more."""
        del self.blocks[-depth:]
        self.grow(depth + 1)

    async def tell(self, count: int) -> None:
        """Announce the last blocks."""
        for made in self.blocks[-count:]:
            await self.provider.tell(HEADS, self._header(made.head))

    def _header(self, head: Head) -> dict[str, Any]:
        place = head.number - FIRST
        parent = self.blocks[place - 1].head.hash if place else bytes(32)
        return {**head.members(), "parentHash": hexadecimal(parent), "uncles": []}

    def _answer(self, method: str, params: list[Any]) -> Any:
        if method == "eth_chainId":
            return hex(self.network.chain_id)
        if method == "eth_subscribe":
            return HEADS if params[0] == "newHeads" else Error(-32601, f"no {params[0]}")
        answer = self._answers.get(method)
        if answer is None:
            return Error(-32601, f"the method {method} does not exist/is not available")
        if method == "eth_getBlockByNumber" and params[0] == "0x0":
            return {"hash": self.network.genesis_hash, "number": "0x0", "parentHash": "0x" + "00" * 32}
        *values, wanted = params if method in STATE else params[:1]
        found = self._found(wanted)
        if found is None:
            return Error(-32000, "header not found") if method in STATE else None
        return answer(found, *values)

    def _receipts(self, made: Made) -> Any:
        told = msgspec.json.decode(made.block.receipts)
        if self._lies:
            told[-1]["logs"][0]["data"] = "0x" + "ff" * 32
        return told

    def _found(self, wanted: Any) -> Made | None:
        if isinstance(wanted, dict):
            wanted = wanted["blockHash"]
        if wanted in ("finalized", "safe"):
            return self.blocks[FINAL]
        if wanted == "latest":
            return self.blocks[-1]
        place = self._places.get(wanted, -1) if len(wanted) > HASH_DIGITS else int(wanted, 16) - FIRST
        found = self.blocks[place] if 0 <= place < len(self.blocks) else None
        is_other = found is not None and wanted not in (hex(found.head.number), hexadecimal(found.head.hash))
        return None if is_other else found
