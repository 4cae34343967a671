"""Frames, requests, and the plainest calls, which are answered from their text alone.

Everything here reads the usual form and no other. Where something is unusual it returns None, or stops, and
never says that a request is wrong: the caller then goes the way of all requests.

Texts are UTF-8. Functions that read a text of 256 KiB or more release the interpreter's lock while they do.
"""

from collections.abc import Sequence
from typing import Any, final

from wsnode._native.chain import LogCriteria
from wsnode._native.evm import Halt, Interrupted, Revert, State
from wsnode._native.store import Environment, Reader

def take_messages(data: bytes | bytearray, position: int, limit: int, messages: list[bytes], /) -> int:
    """Append the messages of the WebSocket frames that begin at `position`; return where the last one ends.

    It stops at anything but a whole, masked, single, unextended frame of text or binary of at most `limit`
    bytes, and at a text that is not UTF-8. Whole pongs are passed over. Keeps the lock.
    """

def unmask(masked: bytes, mask: bytes, offset: int, /) -> bytes:
    """Return part of a frame's payload that begins `offset` bytes into it, without its mask of four bytes."""

def read_request(text: bytes, most: int | None = None, /) -> tuple[str, bytes, bytes] | None:
    """Return method, parameters and id of a JSON-RPC request, None where it is unusual.

    Parameters and id are the sender's bytes, empty where they are absent. The usual form is ASCII without
    escapes, with the members of the specification, each once, and a whole number or a string as id. With more
    than `most` values among its parameters it is unusual too; a member's name counts as one.
    """

def read_batch(text: bytes, most: int, /) -> list[tuple[str, bytes, bytes]] | None:
    """Return the requests of a batch as `read_request`, None if one is unusual or there are over `most`."""

def first_items(text: bytes, most: int, /) -> list[bytes]:
    """Return the first `most` items of a JSON array as they were sent; none of any other JSON text.

    The text must be known to be JSON, as it must for the functions below.
    """

def find_fault(text: bytes, /) -> str | None:
    r"""Return what is wrong with a text that is no JSON, or deeper than 900 lists; None if nothing is.

    The text may be anything. Escapes for half a character, as `\ud800`, are not wrong.
    """

def outline(text: bytes, /) -> tuple[bytes, bytes | None] | None:
    """Return a JSON object with its `jsonrpc`, `method` and `id`, all other values 0, and its last `params`.

    None for other JSON.
    """

def find_identity(text: bytes, /) -> bytes | None:
    """Return the last `id` of a JSON object as it was sent, None where there is none."""

def count_values(text: bytes, /) -> int:
    """Return how many values a JSON text holds at the most: hardly more than twice as many as it does."""

def replace_lone_surrogates(text: bytes, /) -> bytes | None:
    r"""Return the text with `\ufffd` for each escape of half a character, None where there is none."""

def are_hashes(mapping: dict[str, Any], /) -> bool:
    """Return whether each name and value is 32 bytes, written as `0x` and lower-case digits."""

def read_log_filter(params: bytes, most: int, head: int, /) -> tuple[LogCriteria, int, int] | None:
    """Return criteria, first and last block of the parameters `[filter]`, or None for unusual ones.

    A filter is unusual also if it names more than `most` addresses and topics together, a block above
    `head`, or a range that ends before it begins.
    """

def run_call_text(
    state: State, number: int, header: bytes, params: bytes, gas_blocks: int, budget: int, /
) -> bytes | int | Revert | Halt | Interrupted | None:
    """Return the result of `eth_call` as JSON, from the text of its parameters, or how else the call ended.

    State overrides may be among them, but none of the block. It runs after the committed block of this number
    and header row, which "latest" stands for, with at most `gas_blocks` times the block's gas limit. Where
    the parameters name another block by number, that number is returned, and None where they are unusual.
    Keeps the lock, for `budget` at most, in jumps of about 12 ns; beyond it the call is `Interrupted`.

    Raises:
        InvalidTransactionError: The message is refused before it runs.
        ReorganisedError: The block is not one of the chain.
        StateError: The state cannot be read.
        CorruptRowError: The header row cannot be read.
    """

def estimate_call_text(
    state: State, number: int, header: bytes, params: bytes, gas_blocks: int, budget: int, /
) -> bytes | int | Revert | Halt | Interrupted | None:
    """Return the result of `eth_estimateGas` as JSON, or how it fails, otherwise as `run_call_text`."""

@final
class VersionedCache:
    """The results of calls without parameters, each true of one version of a chain's store."""

    def __new__(cls, store: Environment, /) -> VersionedCache: ...
    def keep(self, method: str, result: bytes, version: int | None, /) -> None:
        """Keep the method's result, JSON text, in the place of another: of one version, or of all if None."""

    def of(self, version: int, /) -> dict[str, bytes]:
        """Return the results that are true of a version, each by its method's name."""

    def answer(
        self,
        data: bytes,
        largest: int,
        room: int,
        methods: NativeMethods | None = None,
        version: int | None = None,
        snapshot: HeadSnapshot | None = None,
        /,
    ) -> tuple[bytes, int, int, dict[str, int]] | None:
        """Answer the calls in the WebSocket frames that `data` begins with, by results that are true now.

        With the `snapshot` of a `version`, by those that are true of it, and by what the `methods` find in
        it. Returns the replies as text frames, the size of the frames that were answered, the number of
        calls, and those of each method; None if the first is left to others. The run ends at the first that
        is, after 64 calls or a millisecond, at a reply longer than `largest` bytes, and where the replies
        together would be longer than `room`. Keeps the lock.
        """

def send_now(descriptor: int, data: bytes, /) -> int:
    """Send what the system accepts of `data` at once, and return how much that is; 0 if nothing.

    The interpreter's lock is kept: taken back beside a busy thread it costs a millisecond.

    Raises:
        OSError: The other side is gone, or the socket is closed.
    """

def waiting_events(epoll: int, most: int = ..., /) -> list[tuple[int, int]]:
    """Return the events that wait at an epoll, each with its socket, 4,096 unless `most` says less.

    The interpreter's lock is kept.

    Raises:
        OSError: It is closed, or the system has none.
    """

@final
class SocketQueue:
    """Non-blocking sockets in the order in which they are to be read, by their descriptors.

    Peers take turns by the time that they have taken so far, and a socket without a peer stands for itself. A
    socket of a connection is read here. As long as the connection allows it, the calls that it begins with
    are answered by results that last, and sent at once; all else is left to the caller.
    """

    def __new__(cls, receive_bytes: int, quick_seconds: float, /) -> SocketQueue:
        """Read less than `receive_bytes` at once where calls are answered.

        Bursts that take `quick_seconds` at most are counted together.
        """

    @property
    def waiting(self) -> int:
        """Return how many peers have sockets that wait."""

    @property
    def known(self) -> int:
        """Return of how many peers it is known what they have taken."""

    def watch(self, descriptor: int, peer: str | None, connection: Any = None, /) -> None:
        """Note the peer of a socket, and the connection that is `Plain` (server/transport/poller), if any.

        Raises:
            AttributeError, TypeError: It is not.
        """

    def to_python(self, descriptor: int, /) -> None:
        """Read a socket no more, until it is watched again."""

    def forget(self, descriptor: int, /) -> None:
        """Drop what is known of a socket; to be called before it is closed."""

    def add(self, descriptor: int, /) -> None:
        """Have a socket wait behind its peer's others, if it does not wait already."""

    def add_all(self, arrivals: list[tuple[int, int]], arrived: int, /) -> list[int]:
        """Have sockets wait, each given with its events, and return those with other events than `arrived`.

        Those are handed over, and wait behind sockets whose last burst was quick.
        """

    def serve(
        self, epoll: int, host: int, seconds: float, slice_seconds: float, rest: list[int], /
    ) -> tuple[list[int], tuple[int, bytes | None, bytes | None] | None, bool, bool]:
        """Wait for the sockets of `epoll` for `seconds` at most, and read them as they have something.

        They are read for `slice_seconds` at most, those of `rest` behind those that have arrived. It ends
        early as soon as one has something for the caller, one has ended, `host`, which `epoll` watches too,
        has an event, or a signal comes. Returns the sockets that have ended, which are handed over and wait
        to be read; what `next` returns; whether any socket had something; and whether `host` may have an
        event. Keeps the lock but while it waits. Linux only.

        Raises:
            OSError: There is no such epoll.
        """

    def next(self, seconds: float, /) -> tuple[int, bytes | None, bytes | None] | None:
        """Read sockets until one has something for the caller; None after `seconds`, or if none has.

        Returns its descriptor, the received bytes (empty at its end or after an error, None where none are
        left) and the frames of replies that could not be sent (None without any). The caller is to read the
        socket if there is neither. `charge` is to follow. Connections have counted by then what was answered.
        Keeps the lock.
        """

    def counted(self, seconds: float, /) -> float:
        """Return how many of the seconds since `next` returned count for the turn.

        All of them do, but where they are many, and others wait, those for which this thread was put aside.
        """

    def charge(self, seconds: float, /) -> None:
        """Have the peer of the socket that `next` returned pay for `seconds`, and wait if it has more."""

@final
class NativeMethods:
    """Methods that `answer_calls` may answer out of a `HeadSnapshot`, each by its name and what bounds a
    call.

    These are `eth_getBalance`, `eth_getTransactionCount`, `eth_getCode`, `eth_getStorageAt`,
    `eth_getTransactionByHash`, `eth_getTransactionReceipt`, `eth_getBlockByNumber` and `eth_getBlockByHash`,
    without bounds, and `eth_call`, whose bounds are its gas, in gas limits of the block, and its jumps. Calls
    on the head's state are answered that pay nothing, override nothing, and succeed within their bounds.

    Raises:
        ValueError: The engine cannot answer one of them, or has other bounds for it.
    """

    def __new__(cls, methods: Sequence[tuple[str, Sequence[int]]], /) -> NativeMethods: ...

@final
class HeadSnapshot:
    """A snapshot of a chain and the state after its head; good as long as the snapshot.

    `number` and `block_hash` name the head of the snapshot. Blocks are left to others unless their form
    `is_plain`, without a total difficulty.
    """

    def __new__(
        cls, state: State, reader: Reader, number: int, block_hash: bytes, /, *, is_plain: bool
    ) -> HeadSnapshot: ...
    def answer(self, method: str, params: bytes, /) -> bytes | None:
        """Return the result of a method without limits as JSON, from the text of its parameters.

        None where anything is unusual, right or wrong, and where the snapshot has ended. Keeps the lock.

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
    """Return the replies to the calls from place `start` on, and how many there are of each method.

    With `are_messages`, `calls` are texts, and the replies are the text frames of a server. Else they are
    requests as `read_request` returns them, and the replies are joined by commas, for a batch. A call is
    answered whose method is in `results`, with that result, if it has no parameters; or is one of `methods`,
    out of `snapshot`.

    It stops at the first call that asks for anything else or in an unusual form, at a notification, at a text
    of over 256 KiB, at a reply of over `largest` bytes, where the replies would be longer than `room` bytes
    together, after 64 calls and after about a millisecond. Keeps the lock. A snapshot that has ended answers
    nothing.

    Raises:
        StoreError: The store of the moment's reader keeps no chain.
        TypeError: A message is not bytes.
    """
