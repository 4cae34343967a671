"""A growing chain that another process writes, as a worker of a node sees it, and that process's program."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ethereum.live.growing import Block, GrowingChain, growing_chain
from tests.node_process import PATIENCE
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.logs.filter import Log
from wsnode.ethereum.primitives.values import BlockNumber, Hash32


class WrittenElsewhere(GrowingChain):
    """Chain that this process reads, and a second process changes by commands."""

    def __init__(self, chain: Chain, writer: "subprocess.Popen[str]") -> None:
        self.chain = chain
        self.blocks: list[Block] = []
        self.fetchers = None
        self._writer = writer

    def patch(self, accounts: bytes) -> None:
        """Change accounts of the head's state."""
        self._tell("patch", accounts=accounts.decode())

    def grow(self, logs: Sequence[Log] = ()) -> Head:
        """Add a block with these logs."""
        self.reorganise(0, [logs])
        return self.blocks[-1].head

    def shrink(self, depth: int) -> list[Head]:
        """Take blocks off the end; return them, highest first."""
        before = self.blocks
        self._tell("shrink", depth=depth)
        return [block.head for block in reversed(before[len(self.blocks) :])]

    def reorganise(self, depth: int, blocks: Sequence[Sequence[Log]]) -> None:
        """Replace the last `depth` blocks by others."""
        encoded = [
            [[address.hex(), [topic.hex() for topic in topics]] for address, topics in logs]
            for logs in blocks
        ]
        self._tell("reorganise", depth=depth, blocks=encoded)

    def return_to(self, branch: Sequence[Head]) -> None:
        """Put blocks that `shrink` took off, highest first, back on the chain."""
        self._tell("return", branch=[[head.number, head.hash.hex()] for head in branch])

    def _tell(self, what: str, **details: Any) -> None:
        """Have the other process do something, and wait for its end."""
        assert self._writer.stdin is not None
        assert self._writer.stdout is not None
        self._writer.stdin.write(json.dumps({"what": what, **details}) + "\n")
        self._writer.stdin.flush()
        told = self._writer.stdout.readline()
        assert told, "the process that writes has ended"
        self.blocks = [Block(head_of(*each), ()) for each in json.loads(told)]


def head_of(number: int, text: str) -> Head:
    return Head(BlockNumber(number), Hash32(bytes.fromhex(text)))


@contextmanager
def written_elsewhere(folder: Path, genesis: bytes) -> Iterator[WrittenElsewhere]:
    """Have another process write a new chain, and open that here as a reader."""
    file = folder / "genesis.json"
    file.write_bytes(genesis)
    command = [sys.executable, "-m", "tests.ethereum.live.written_elsewhere", str(folder / "eth"), str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        try:
            assert json.loads(writer.stdout.readline()) == []
            with Chain.open(folder / "eth", writer=False) as chain:
                yield WrittenElsewhere(chain, writer)
        finally:
            writer.stdin.close()
            writer.wait(PATIENCE)


def main(folder: str, genesis: str) -> None:
    """Do what each line of the input says, and answer each with the blocks of the chain."""
    with growing_chain(Path(folder), Path(genesis).read_bytes()) as growing:
        print("[]", flush=True)
        for line in sys.stdin:
            take_step(growing, json.loads(line))
            blocks = [[block.head.number, block.head.hash.hex()] for block in growing.blocks]
            print(json.dumps(blocks), flush=True)


def take_step(growing: GrowingChain, step: dict[str, Any]) -> None:
    match step:
        case {"what": "patch", "accounts": accounts}:
            growing.patch(accounts.encode())
        case {"what": "shrink", "depth": depth}:
            growing.shrink(depth)
        case {"what": "reorganise", "depth": depth, "blocks": blocks}:
            growing.reorganise(
                depth,
                [
                    [(bytes.fromhex(address), tuple(map(bytes.fromhex, topics))) for address, topics in logs]
                    for logs in blocks
                ],
            )
        case {"what": "return", "branch": branch}:
            growing.return_to([head_of(*each) for each in branch])
        case _:
            raise ValueError(step)


if __name__ == "__main__":
    main(*sys.argv[1:])
