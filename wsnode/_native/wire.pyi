"""Frames, requests, and the simplest calls, which are answered from their text alone.

Every function reads the usual form and no other. For an unusual text, valid or not, it returns None or stops,
and the caller handles the text as any other request.

Texts are UTF-8. Functions that read a text of 256 KiB or more release the interpreter's lock while they do.
"""

from collections.abc import Sequence
from typing import Any, final

from wsnode._native.chain import LogCriteria
from wsnode._native.evm import Halt, Interrupted, Revert, State
from wsnode._native.store import Reader

def take_messages(data: bytes | bytearray, position: int, limit: int, messages: list[bytes], /) -> int:
    """Append the messages of the WebSocket frames at `position`, and return the end of the last one.

    It stops at anything but a whole, masked, single, unextended frame of text or binary of at most `limit`
    bytes, and at a text that is not UTF-8. Whole pongs are skipped. Keeps the lock.
    """

def unmask(masked: bytes, mask: bytes, offset: int, /) -> bytes:
    """Return `masked`, the part of a frame's payload from `offset` on, without its mask of four bytes."""

def read_request(text: bytes, most: int | None = None, /) -> tuple[str, bytes, bytes] | None:
    """Return method, parameters and id of a JSON-RPC request, or None if it is unusual.

    Parameters and id are the sender's bytes, empty if they are absent. The usual form is ASCII without
    escapes, with the members of the specification, each once, and a whole number or a string as id. A request
    with more than `most` values among its parameters is unusual too; a member's name counts as one.
    """

def read_batch(text: bytes, most: int, /) -> list[tuple[str, bytes, bytes]] | None:
    """Return the requests of a batch as `read_request`, or None if one is unusual or over `most` come."""

def first_items(text: bytes, most: int, /) -> list[bytes]:
    """Return the first `most` items of a JSON array as sent; none of any other JSON text.

    The text must be known to be JSON, as for the functions below.
    """

def find_fault(text: bytes, /) -> str | None:
    r"""Return the fault of a text that is no JSON, or deeper than 900 lists; None without a fault.

    The text may be anything. An escape for half a character, such as `\ud800`, is no fault.
    """

def outline(text: bytes, /) -> tuple[bytes, bytes | None] | None:
    """Return a JSON object with 0 for all values but `jsonrpc`, `method` and `id`, and its last `params`.

    None for other JSON.
    """

def find_identity(text: bytes, /) -> bytes | None:
    """Return the last `id` of a JSON object as sent, or None if there is none."""

def count_values(text: bytes, /) -> int:
    """Return an upper bound of the number of values in a JSON text: hardly more than twice the number."""

def replace_lone_surrogates(text: bytes, /) -> bytes | None:
    r"""Return a text of the same length with `\ufffd` for each escape of half a character.

    None if there is none.
    """

def are_hashes(mapping: dict[str, Any], /) -> bool:
    """Return whether each name and value is 32 bytes, written as `0x` and lower-case digits."""

def read_log_filter(params: bytes, most: int, head: int, /) -> tuple[LogCriteria, int, int] | None:
    """Return criteria, first and last block of the parameters `[filter]`, or None for unusual ones.

    A filter is also unusual if it names more than `most` addresses and topics together, a block above `head`,
    or a range that ends before it begins.
    """

def run_call_text(
    state: State, number: int, header: bytes, params: bytes, gas_blocks: int, budget: int, /
) -> bytes | int | Revert | Halt | Interrupted | None:
    """Return the result of `eth_call` as JSON from the text of its parameters, or the call's other outcome.

    The parameters may contain state overrides, but none of the block. The call runs after the committed block
    of `number` and `header`, which "latest" stands for, with at most `gas_blocks` times the block's gas
    limit. If the parameters name another block, its number is returned; if they are unusual, None. Keeps the
    lock for at most `budget`, in jumps of about 12 ns; beyond it the call is `Interrupted`.

    Raises:
        InvalidTransactionError: The message is refused before it runs.
        ReorganisedError: The block is not one of the chain.
        StateError: The state cannot be read.
        CorruptRowError: The header row cannot be read.
    """

def estimate_call_text(
    state: State, number: int, header: bytes, params: bytes, gas_blocks: int, budget: int, /
) -> bytes | int | Revert | Halt | Interrupted | None:
    """Return the result of `eth_estimateGas` as JSON, or the failed outcome of the call.

    The rest is as for `run_call_text`.
    """

@final
class VersionedCache:
    """Results of calls without parameters, and the head for others, each true for one version of a store.

    The store is that of a chain. If the chain gets another one, all that was kept for a version is dropped.
    """

    def __new__(cls, chain: Any, /) -> VersionedCache:
        """Return a cache for an object with a `store`, and with a `state` if calls may read one."""

    def keep(self, method: str, result: bytes, version: int | None, /) -> None:
        """Keep a method's result, JSON text, for one version, or for all if None, as its only one."""

    def keep_view(self, version: int, moment: Any, snapshot: HeadSnapshot | None, /) -> None:
        """Keep the head of a view of the store's present version; a view of an older version is ignored.

        Without a `snapshot`, native methods answer nothing in that version. `moment` is returned for replies
        that were read in it.
        """

    def of(self, version: int, /) -> dict[str, bytes]:
        """Return the results that are true for a version, by method name."""

@final
class FastPath:
    """Answers to the calls of one session, by the results of a cache and by native methods.

    Native methods answer in the present version of the store, once a view of it was kept. If runs of
    `eth_call` do not succeed for this session, most further ones are left to the caller at once.
    """

    def __new__(
        cls, cache: VersionedCache, methods: NativeMethods, /, *, are_frames: bool, is_plain: bool
    ) -> FastPath:
        """Return the fast path of a session that sends WebSocket frames, or else one message at a time.

        Blocks are answered only if their form `is_plain`, without a total difficulty.
        """

    def try_answer(
        self, data: bytes, largest: int, room: int, /
    ) -> tuple[bytes, int, dict[str, int], Any] | None:
        """Answer the calls at the start of `data`; return None if the first one cannot be answered here.

        Return the replies, the length of the answered calls in bytes, the number of calls by method, and the
        moment of the view that was read, None if none was. The run ends at the first call that cannot be
        answered here, after 64 calls or a millisecond, at a reply longer than `largest` bytes, and before
        replies of more than `room` bytes in all. Keeps the lock.
        """

def send_now(descriptor: int, data: bytes, /) -> int:
    """Send as much of `data` as the system accepts at once, and return the number of bytes, 0 if none.

    The interpreter's lock is kept: taking it back beside a busy thread costs a millisecond.

    Raises:
        OSError: The peer has closed the connection, or the socket is closed.
    """

def waiting_events(epoll: int, most: int = ..., /) -> list[tuple[int, int]]:
    """Return up to `most` events of an epoll, 4,096 by default, each with its socket.

    The interpreter's lock is kept.

    Raises:
        OSError: The epoll is closed, or the system has none.
    """

@final
class SocketQueue:
    """Non-blocking sockets in the order in which they are to be read, by their descriptors.

    Peers take turns by the time that they have taken so far. A socket without a peer is a peer by itself. A
    socket of a connection is read here. As long as the connection allows it, calls at the start of its bytes
    are answered by its `FastPath`, and the replies are sent at once. All else is left to the caller.
    """

    def __new__(
        cls, receive_bytes: int, quick_seconds: float, /, *, counts_suspension: bool = False
    ) -> SocketQueue:
        """Return a queue that reads less than `receive_bytes` at once where calls are answered.

        Bursts of at most `quick_seconds` are counted together. A long turn, while others wait, counts without
        the time in which this thread was suspended, unless `counts_suspension`.
        """

    @property
    def charged(self) -> float:
        """Return the seconds for which the last turn was charged that the caller ended."""

    @property
    def waiting(self) -> int:
        """Return the number of peers with sockets that wait."""

    @property
    def known(self) -> int:
        """Return the number of peers whose last bursts are recorded."""

    def watch(self, descriptor: int, peer: str | None, connection: Any = None, /) -> None:
        """Set the peer of a socket, and its connection if that is a `FastConnection` (transport/poller).

        Raises:
            AttributeError, TypeError: The connection is not a `FastConnection`.
        """

    def to_python(self, descriptor: int, /) -> None:
        """Leave a socket to Python: it is not read here until it is watched again."""

    def forget(self, descriptor: int, /) -> None:
        """Drop the records of a socket. Call this before it is closed."""

    def add(self, descriptor: int, /) -> None:
        """Make a socket wait behind its peer's others, if it does not wait already."""

    def add_all(self, arrivals: list[tuple[int, int]], arrived: int, /) -> list[int]:
        """Make sockets wait, each given with its events, and return those with other events than `arrived`.

        The returned sockets are left to Python, and wait behind sockets whose last burst was quick.
        """

    def serve(
        self, epoll: int, host: int, seconds: float, slice_seconds: float, rest: list[int], /
    ) -> tuple[list[int], tuple[int, bytes | None, bytes | None] | None, bool, bool]:
        """Wait for the sockets of `epoll` for at most `seconds`, and read those with data.

        They are read for at most `slice_seconds`, those of `rest` behind newly arrived ones. It ends early if
        a socket has something for the caller or has ended, if `host`, also watched by `epoll`, has an event,
        or if a signal comes. Return the sockets that have ended; the result of `next`; whether any socket had
        something; and whether `host` may have an event. The ended sockets are left to Python and wait to be
        read. Keeps the lock but during the wait. Linux only.

        Raises:
            OSError: There is no such epoll.
        """

    def next(
        self, seconds: float | None, took: float = 0.0, more: float = 0.0, /
    ) -> tuple[int, bytes | None, bytes | None] | None:
        """Charge the last socket's peer, then read sockets until one has something for the caller.

        The peer of the last socket that this returned is charged for `took` seconds since then, as far as
        they count, and for `more` seconds; it waits again if it has more. Return None after `seconds`, or if
        no socket has anything; None reads no socket. Else return its descriptor, the received bytes (empty at
        its end or after an error, None if none are left) and the frames of replies that could not be sent
        (None if all were). Without either, the caller is to read the socket, and in any case to call this
        again. Connections have counted the answered calls by then. Keeps the lock.
        """

@final
class NativeMethods:
    """Methods that `answer_calls` may answer from a `HeadSnapshot`: name, and limits of a call.

    These are `eth_getBalance`, `eth_getTransactionCount`, `eth_getCode`, `eth_getStorageAt`,
    `eth_getTransactionByHash`, `eth_getTransactionReceipt`, `eth_getBlockByNumber` and `eth_getBlockByHash`,
    without limits, and `eth_call`. Its limits are its gas, as a multiple of the block's gas limit, and its
    work in jumps. Calls on the head's state are answered if they pay nothing, override nothing, and succeed
    within their limits.

    Raises:
        ValueError: The engine cannot answer one of them, or has other limits for it.
    """

    def __new__(cls, methods: Sequence[tuple[str, Sequence[int]]], /) -> NativeMethods: ...

@final
class HeadSnapshot:
    """Snapshot of a chain and the state after its head, valid as long as the reader's snapshot.

    `number` and `block_hash` name the head of the snapshot. Blocks are answered only if their form
    `is_plain`, without a total difficulty.
    """

    def __new__(
        cls, state: State, reader: Reader, number: int, block_hash: bytes, /, *, is_plain: bool
    ) -> HeadSnapshot: ...
    def answer(self, method: str, params: bytes, /) -> bytes | None:
        """Return the result of a method without limits as JSON, from the text of its parameters.

        None if anything is unusual, valid or not, and if the snapshot has ended. Keeps the lock.

        Raises:
            ValueError: The engine cannot answer the method.
            StoreError: The reader's store keeps no chain.
        """

def answer_calls(
    calls: Sequence[bytes] | Sequence[tuple[str, bytes, bytes] | bytes],
    start: int,
    results: dict[str, bytes],
    methods: NativeMethods,
    snapshot: HeadSnapshot | None,
    largest: int,
    room: int,
    /,
    *,
    are_messages: bool,
) -> tuple[bytes, dict[str, int]]:
    """Return the replies to the calls from index `start` on, and the number of replies by method.

    With `are_messages`, `calls` are texts, and the replies are the text frames of a server. Otherwise they
    are requests in the form of `read_request`, and the replies are joined by commas, for a batch. A call
    without parameters is answered by its method's result in `results`. A call of one of `methods` is answered
    from `snapshot`.

    It stops at the first other or unusual call, at a notification, at a text of over 256 KiB, at a reply of
    over `largest` bytes, before replies of more than `room` bytes in all, after 64 calls, and after about a
    millisecond. Keeps the lock. A snapshot that has ended answers nothing.

    Raises:
        StoreError: The store of the snapshot's reader keeps no chain.
        TypeError: A message is not bytes.
    """
