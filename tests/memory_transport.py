"""The dispatcher as a transport: requests and replies without a socket."""

import json
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
import trio

from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import TimeLimitError
from wsnode.jsonrpc.session import Session
from wsnode.jsonrpc.share import Party
from wsnode.jsonrpc.work import AsyncCall, CancelToken, InThread, Reply, SlowCall, pieces_of


def memory_transport(dispatcher: Dispatcher, caller: Any) -> Callable[[str], str | None]:
    """Return a function that answers one request text at a time, work for threads done on the spot."""

    def send(text: str) -> str | None:
        session = Session(dispatcher, caller)
        try:
            answer = session.receive(text.encode())
            reply = run(answer) if isinstance(answer, SlowCall) else answer
        finally:
            session.end_turn()
        return None if reply is None else whole(reply).decode()

    return send


def run(pending: SlowCall) -> bytes | None:
    """Return the reply of a call in slices."""
    while not advance(pending):
        pass
    return None if pending.reply is None else whole(pending.reply)


def whole(reply: Reply | None) -> bytes:
    """Return the text of a reply, empty if there is none."""
    return b"".join(pieces_of(reply or b""))


def advance(pending: SlowCall) -> bool:
    """Do what the call waits for; True when it has ended."""
    step = pending.step
    if step is None:
        return pending.resume()
    try:
        value = result_of(step)
    except Exception as error:
        return pending.fail(error)
    return pending.resume(value)


def result_of(step: InThread | AsyncCall) -> Any:
    """Return what work for a thread comes to, or what is waited for."""
    return step.function(CancelToken()) if isinstance(step, InThread) else trio.run(_awaited, step)


async def _awaited(step: AsyncCall) -> Any:
    with trio.move_on_after(float("inf") if step.seconds is None else step.seconds):
        return await step.function()
    raise TimeLimitError


class Client(msgspec.Struct, frozen=True):
    """The caller: a plain node's client, or the service's."""

    service_form: bool = False
    key_name: str | None = None
    party: Party | None = None


class Ask(Protocol):
    """Calls a method and returns the reply without its envelope."""

    def __call__(self, method: str, *params: Any, service_form: bool = False) -> dict[str, Any]: ...


def asking(dispatcher: Dispatcher) -> Ask:
    """Return a function that calls methods through `dispatcher`, as either kind of client."""

    def ask(method: str, *params: Any, service_form: bool = False) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = memory_transport(dispatcher, Client(service_form))(json.dumps(request))
        assert reply is not None
        members: dict[str, Any] = json.loads(reply)
        assert (members.pop("jsonrpc"), members.pop("id")) == ("2.0", 1)
        return members

    return ask
