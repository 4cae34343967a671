"""The dispatcher as a transport: requests and replies without a socket."""

import json
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
import trio

from wsnode.jsonrpc.context import Session
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import TimeLimitError
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.session_limits import AdmissionGate
from wsnode.jsonrpc.work import Answer, Await, CallTask, CancelToken, Gather, Reply, RunInThread, pieces_of
from wsnode.server.scheduling.executor import gather


class Conversation(Session):
    """The session of one caller."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        caller: Any = None,
        gate: AdmissionGate | None = None,
        *,
        shares_results: bool = False,
    ) -> None:
        super().__init__(dispatcher.open_view, caller, gate, dispatcher.bounds.reply_bytes)
        self.shares_results = shares_results and gate is None
        self.dispatcher = dispatcher
        self.fast_path = dispatcher.fast_paths.open(self, are_frames=True)

    def receive(self, text: bytes) -> Answer:
        """Return the answer to a message."""
        return self.dispatcher.handle(text, self)

    def answer_frames(self, data: bytes, largest: int, room: int) -> tuple[bytes, int, int] | None:
        """Return the engine's answer to frames: replies, bytes answered and number of calls."""
        if self.fast_path is None:
            return None
        answered = self.fast_path.try_answer(data, min(largest, self.reply_bytes), room)
        if answered is None:
            return None
        replies, size, counts, _moment = answered
        count = sum(counts.values())
        self.dispatcher.fast_paths.observe(counts, count, 0.0, longest=0.0)
        return replies, size, count

    def answer_on_fast_path(
        self, messages: list[bytes], start: int, largest: int, room: int
    ) -> tuple[bytes, int]:
        """Return the frames of the engine's answers to messages from `start` on, and how many these are."""
        fast_paths = self.dispatcher.fast_paths
        return fast_paths.answer_calls(messages, start, self, largest, room, are_messages=True)


def memory_transport(dispatcher: Dispatcher, caller: Any) -> Callable[[str], str | None]:
    """Return a function that answers one request text at a time, work for threads done on the spot."""

    def send(text: str) -> str | None:
        session = Conversation(dispatcher, caller)
        try:
            answer = session.receive(text.encode())
            reply = run(answer) if isinstance(answer, CallTask) else answer
        finally:
            session.end_turn()
        return None if reply is None else whole(reply).decode()

    return send


def run(pending: CallTask) -> bytes | None:
    """Return the reply of a call in slices."""
    while not advance(pending):
        pass
    return None if pending.reply is None else whole(pending.reply)


def whole(reply: Reply | None) -> bytes:
    """Return the text of a reply, empty if there is none."""
    return b"".join(pieces_of(reply or b""))


def advance(pending: CallTask) -> bool:
    """Do what the call waits for; True when it has ended."""
    step = pending.step
    if step is None:
        return pending.resume()
    try:
        value = result_of(step)
    except Exception as error:
        return pending.fail(error)
    return pending.resume(value)


def result_of(step: RunInThread | Await) -> Any:
    """Return what work for a thread comes to, or what is waited for."""
    return step.function(CancelToken()) if isinstance(step, RunInThread) else trio.run(_awaited, step)


async def _awaited(step: Await) -> Any:
    with trio.move_on_after(float("inf") if step.seconds is None else step.seconds):
        return await (gather(step.functions) if isinstance(step, Gather) else step.function())
    raise TimeLimitError


class Client(msgspec.Struct, frozen=True):
    """The caller: a plain node's client, or the service's."""

    service_form: bool = False
    key_name: str | None = None
    client: ClientId | None = None


class Ask(Protocol):
    """Calls a method and returns the reply without its envelope."""

    def __call__(self, method: str, *params: Any, service_form: bool = False) -> dict[str, Any]: ...


def asking(dispatcher: Dispatcher, key_name: str | None = None, *, caller: Any = None) -> Ask:
    """Return a function that calls methods as either kind of client, with a key, or as a `caller`."""

    def ask(method: str, *params: Any, service_form: bool = False) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        client = caller or Client(service_form, key_name)
        reply = memory_transport(dispatcher, client)(json.dumps(request))
        assert reply is not None
        members: dict[str, Any] = json.loads(reply)
        assert (members.pop("jsonrpc"), members.pop("id")) == ("2.0", 1)
        return members

    return ask
