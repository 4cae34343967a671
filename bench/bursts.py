"""What do the smallest calls cost inside the server, apart from sockets, scheduling and clients?

    python -m bench.bursts [--methods eth_chainId,eth_blockNumber]

Gives a connection's own function bursts of masked frames and throws the replies away, in one process and on a
chain of one block, as a server would: results that last are kept for all connections. For each method without
parameters, for all of them by turns, and for balances of the accounts, in ether and in a token, by turns it
is a burst of one request and one of sixteen. Microseconds of the best of many rounds, and how many of them
reading frames alone takes.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import trio
from websockets.frames import Frame, Opcode

from bench.lib.load import request
from wsnode.demo.accounts import ADDRESSES
from wsnode.demo.genesis import demo_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.fast_path import VersionedCache
from wsnode.node.views import opening
from wsnode.server.access.router import Caller
from wsnode.server.limits import Limits
from wsnode.server.scheduling.client_quota import ClientQuota
from wsnode.server.shared import Shared
from wsnode.server.transport.poller import FastConnection, Take
from wsnode.server.websocket.connection import WebSocketConnection
from wsnode.server.websocket.frames import Framing

ROUNDS = 50
BURSTS = 200
SIZE = 16
TOKEN = "70" * 20
BALANCE_OF = "600435600052600560205260406000205460005260206000f3"
"""Code of `balanceOf`: it returns what a mapping in slot 0 has for the account in the input."""


class Call(NamedTuple):
    """A method, and what it is given."""

    method: str
    params: tuple[Any, ...] = ()


class Bursts:
    """A transport on which one burst arrives again and again, and everything can be sent."""

    def __init__(self, burst: bytes) -> None:
        self.burst = burst
        self.rounds = 0
        self.woken = False
        self.best = float("inf")
        """Seconds that a burst took in the best round."""

    @property
    def ready(self) -> int:
        """Return 1: nothing else arrives."""
        return 1

    async def feed(self, take: Take, peer: str | None = None, plain: FastConnection | None = None) -> bool:
        """Have the burst taken in many rounds; a round in which a turn ran out of time does not count."""
        while self.rounds < ROUNDS:
            self.rounds += 1
            began = perf_counter()
            for _ in range(BURSTS):
                if not take(self.burst) or self.woken:
                    self.woken = False
                    return True
            self.best = min(self.best, (perf_counter() - began) / BURSTS)
        return False

    def wake(self) -> None:
        """Have `feed` return after this burst."""
        self.woken = True

    async def receive(self) -> bytes:
        """Return the end of the stream."""
        return b""

    def receive_nowait(self) -> None:
        """Return None: no burst waits."""
        return

    def feed_nowait(self) -> bool:
        """Give nothing: no burst waits."""
        return False

    def send_nowait(self, data: bytes | memoryview) -> int:
        """Take everything."""
        return len(data)

    async def send_some(self, data: memoryview) -> int:
        """Take everything."""
        return len(data)

    async def send_eof(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""


def cases_of(methods: Sequence[str]) -> dict[str, list[Call]]:
    """Return what is asked by turns, by what the line is called."""
    alone = {method: [Call(method)] for method in methods}
    balances = [Call("eth_getBalance", (f"0x{address}", "latest")) for address in ADDRESSES]
    together = {", ".join(methods): [Call(method) for method in methods]}
    return alone | together | {"eth_getBalance": balances, "eth_call": [balance_of(one) for one in ADDRESSES]}


def balance_of(address: str) -> Call:
    """Return a call of the token's `balanceOf`."""
    return Call("eth_call", ({"to": f"0x{TOKEN}", "data": f"0x70a08231{address:0>64}"}, "latest"))


def genesis() -> bytes:
    """Return the demo's genesis, and a token in it."""
    members = json.loads(demo_genesis())
    members["alloc"][TOKEN] = {"balance": "0x0", "code": f"0x{BALANCE_OF}"}
    return json.dumps(members).encode()


def burst_of(calls: Sequence[Call], count: int) -> bytes:
    """Return a number of requests of the calls in turns, in the form of a client."""
    asked = (calls[index % len(calls)] for index in range(count))
    requests = [
        request(call.method, *call.params, identity=100_000 + index) for index, call in enumerate(asked)
    ]
    payloads = [json.dumps(each, separators=(",", ":")).encode() for each in requests]
    return b"".join(Frame(Opcode.TEXT, payload).serialize(mask=True) for payload in payloads)


def measure(dispatcher: Dispatcher, burst: bytes) -> float:
    """Return the microseconds that a connection takes for one burst."""
    shared, caller = Shared(Limits()), Caller(network="eth", open_path=True)
    bursts = Bursts(burst)
    session = dispatcher.session(caller, shares_results=True)
    connection = WebSocketConnection(
        bursts, dispatcher, session, shared, ClientQuota(shared, network=caller.network)
    )
    trio.run(connection.run, b"")
    return bursts.best * 1e6


def measure_frames(burst: bytes) -> float:
    """Return the microseconds that it takes to read the messages out of one burst."""
    framing = Framing(Limits().message_bytes)
    best = float("inf")
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(BURSTS):
            framing.receive(burst)
        best = min(best, (perf_counter() - began) / BURSTS)
    return best * 1e6


def main() -> None:
    """Print a line for each method, and one for all of them by turns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", default="eth_chainId,eth_blockNumber")
    methods = parser.parse_args().methods.split(",")
    with (
        tempfile.TemporaryDirectory() as folder,
        Chain.open(Path(folder), genesis(), writer=True, durable=False) as chain,
    ):
        registry, bounds = build_registry(chain), Limits()
        dispatcher = Dispatcher(
            registry, opening(chain, None), bounds=bounds, versioned_cache=VersionedCache(chain)
        )
        for name, calls in cases_of(methods).items():
            one, many = (measure(dispatcher, burst_of(calls, count)) for count in (1, SIZE))
            frames = measure_frames(burst_of(calls, SIZE)) / SIZE
            print(
                f"{name}: a burst of one {one:.1f} us, of {SIZE} {many / SIZE:.2f} us a request, "
                f"frames {frames:.2f} us of that"
            )


if __name__ == "__main__":
    main()
