"""A node that follows the reference node, as processes, and a subscriber of it."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.node_process import PATIENCE, Node, kept_address, post, started, until
from tests.starknet.block_changes import Json
from tests.starknet.reference.made_blocks import MadeBlocks
from tests.starknet.reference.node import CHAIN_ID, ReferenceNode, reference_node
from tests.starknet.reference.watcher import Watcher

NOTICED_LIES: Final = (
    *("event left out", "event changed", "receipt status", "calldata"),
    *("difference short", "parent wrong", "root wrong"),
)
"""Those about every block."""
LIES: Final = (*NOTICED_LIES, "class wrong", "stale head", "proof wrong")
MAX_WAIT: Final = 3 * PATIENCE
"""Seconds to wait for a node of a busy machine, which gives up a slow upstream and tries it again."""
KEYS: Final = ("0x1", "0x7", "0x99")
"""Two slots that some contracts have, and one that none has."""


class World:
    """A node that follows, its upstreams, and a subscriber of it."""

    def __init__(
        self,
        upstreams: Sequence[ReferenceNode],
        made: MadeBlocks,
        options: list[str],
        *,
        proofs: str,
        is_growing: bool,
    ) -> None:
        self.upstreams = upstreams
        self.made = made
        self._options = options
        self._proofs = proofs
        self._is_growing = is_growing
        self._incarnation = ExitStack()
        self.node: Node
        self._first_block = made.branch(self.honest.command("state")["block_hash"])[0]
        address = self._first_block["state_diff"]["deployed_contracts"][0]["address"]
        self._class: Json = self.honest.ask("starknet_getClassAt", ["latest", address])
        self.be_honest()
        self.start()

    @property
    def liar(self) -> ReferenceNode:
        """Return the upstream that lies, where one does; it has each block first."""
        return self.upstreams[0]

    @property
    def honest(self) -> ReferenceNode:
        """Return the upstream that does not lie, where there are two."""
        return self.upstreams[-1]

    def start(self) -> None:
        """Start the node, after the one before was killed."""
        self._incarnation = ExitStack()
        self.node = self._incarnation.enter_context(started(*self._options))

    def kill(self) -> None:
        """Kill the node."""
        self.node.kill()
        self._incarnation.close()

    def close(self) -> None:
        """Stop the node."""
        self._incarnation.close()

    def command(self, do: str, **more: Any) -> None:
        """Have all upstreams do the same."""
        for upstream in self.upstreams:
            upstream.command(do, **more)

    def grow(self, count: int) -> None:
        """Have the chain grow by some blocks, or wait until it has by itself."""
        if not self._is_growing:
            self.command("grow", count=count)
            return
        wanted = self.liar.command("state")["block_number"] + count
        until("blocks were made", lambda: self.liar.command("state")["block_number"] >= wanted)

    def ask(self, method: str, *params: Any) -> Any:
        """Return the node's result, or its error."""
        return self._call(f"starknet_{method}", params)

    def status(self) -> list[Any]:
        """Return how the upstreams stand."""
        upstreams: list[Any] = self._call("wsnode_status", [])["upstreams"]
        return upstreams

    def _call(self, method: str, params: Sequence[Any]) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = json.loads(post(self.node.http_url, json.dumps(request)))
        return reply["result"] if "result" in reply else reply["error"]

    def be_honest(self) -> None:
        """End all lies."""
        self.liar.command("tell the truth")
        if self._proofs == "juno":
            self.command("lie", name="juno proofs")
            if not self._is_growing:
                # A chain that grows meanwhile may leave every head before its proof is made.
                self.command("proofs", blocks=0)

    def lie(self, name: str) -> None:
        """Have an upstream lie about some blocks, and read meanwhile; then it is honest again."""
        self.liar.command("lie", name=name)
        self.grow(2)
        # Beside an honest upstream the other one may not be asked.
        if len(self.upstreams) == 1:
            self.wait_until_noticed(name)
        self.read(can_fail=True)
        if len(self.upstreams) > 1:
            self.wait_for_head()
            self.read()
        self.be_honest()

    def wait_until_noticed(self, name: str) -> None:
        """Wait until the node has left an upstream alone that lies about every block."""
        if name in NOTICED_LIES:
            until("the lie is noticed", lambda: self.status()[0]["state"] != "followed", MAX_WAIT)

    def wait_for_head(self) -> str:
        """Return the hash of the upstreams' head once the node has it."""
        head: str = self.honest.command("state")["block_hash"]
        number = self.made[head]["header"]["block_number"]
        until("the head is there", lambda: self._has(number, head), MAX_WAIT)
        return head

    def _has(self, number: int, block_hash: str) -> bool:
        found = self.ask("getBlockWithTxHashes", {"block_number": number})
        return bool(found.get("block_hash") == block_hash)

    def read(self, *, can_fail: bool = False) -> None:
        """Compare values of two contracts at the head, and a class; with `can_fail` errors are right too."""
        rows = self._first_block["state_diff"]["deployed_contracts"][:2]
        for address in (row["address"] for row in rows):
            for key in KEYS:
                slot = partial(self.made.slot, address=address, key=key)
                self._compare("getStorageAt", (address, key), (), slot, can_fail=can_fail)
            nonce = partial(self.made.nonce, address=address)
            self._compare("getNonce", (), (address,), nonce, can_fail=can_fail)
        # The first contract sends no transactions, so its class stays.
        self._compare("getClassAt", (), (rows[0]["address"],), self._first_class, can_fail=can_fail)

    def head(self) -> str:
        """Return the hash of the node's head."""
        head: str = self.ask("blockHashAndNumber")["block_hash"]
        return head

    def _first_class(self, _head: str) -> Json:
        return self._class

    def _compare(
        self,
        method: str,
        before: tuple[str, ...],
        after: tuple[str, ...],
        expected: Callable[[str], Any],
        *,
        can_fail: bool,
    ) -> None:
        """Compare a result whose parameters are `before`, the head and `after`."""

        def is_right() -> bool:
            head = self.head()
            answer = self.ask(method, *before, {"block_hash": head}, *after)
            if isinstance(answer, dict) and "code" in answer:
                # The head has left the chain since, or its upstream proves another one by now.
                assert answer["code"] in (24, -32000), answer
                return can_fail
            assert answer == expected(head), (method, before, after, head)
            return True

        until(f"{method} is proved", is_right, MAX_WAIT)

    def check(self, watcher: Watcher) -> None:
        """Wait until the subscriber has all of the chain up to its head of now, each item once."""
        head = self.wait_for_head()
        until("the subscriber has all once", lambda: watcher.has_exactly(self.made, head), MAX_WAIT)


@contextmanager
def world(
    folder: Path,
    *,
    blocks: int,
    window: int,
    transport: str = "ws",
    proofs: str = "pathfinder",
    block_time: float = 0,
    upstreams: int = 1,
) -> Iterator[tuple[World, Watcher]]:
    """Run upstreams with the same chain, a light node that follows them, and a subscriber of it."""
    with ExitStack() as stack:
        files = [folder / f"made-{number}.jsonl" for number in range(upstreams)]
        nodes = [
            stack.enter_context(reference_node(blocks, block_time=block_time, made=file)) for file in files
        ]
        address = stack.enter_context(kept_address())
        urls = [f"{node.url.replace('http', transport)}/rpc/v0_10" for node in nodes]
        options = ["follow", "--data", str(folder / "data"), "--chain", f"starknet:{CHAIN_ID}"]
        options += ["--light", "--window", str(window), "--listen", address, "--open"]
        options += [part for url in urls for part in ("--upstream", url)]
        made = MadeBlocks(files[0])
        running = World(nodes, made, options, proofs=proofs, is_growing=block_time > 0)
        stack.callback(running.close)
        head = made[running.wait_for_head()]["header"]["block_number"]
        url = running.node.bare(running.node.socket_url)
        watcher = stack.enter_context(Watcher(url, head))
        # Reorganisations stay above the subscriber's first block.
        running.grow(6)
        running.check(watcher)
        yield running, watcher
