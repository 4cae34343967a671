"""Every kind of call gives its handler what it is registered for, and looks at the contracts it names."""

import json
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import msgspec
import pytest

from tests.clocks import stopped
from tests.memory_transport import Conversation, run, whole
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.parameters import PositionalDecoder
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.requests import QUICK_VALUES
from wsnode.jsonrpc.work import CallTask, Step


class Named(msgspec.Struct, array_like=True, frozen=True):
    contract: int
    more: list[int] = []


READ = PositionalDecoder(Named).read


class Text:
    """Hands the parameters on as they were sent."""

    struct: type[msgspec.Struct] | None = Named
    decode: Callable[[bytes], Any] = bytes

    def explain(self, params: bytes) -> bytes:
        return params

    def read(self, params: Any) -> Any:
        return READ(params) if isinstance(params, bytes) else params


class View:
    def __enter__(self) -> str:
        return "view"

    def __exit__(self, *_details: object) -> None: ...


class Line:
    """A channel on which nothing is begun."""

    def __str__(self) -> str:
        return "line"

    def take_pending(self) -> list[Any]:
        return []

    def discard(self, pending_subscriptions: Sequence[Any]) -> None: ...


class OnlySeven:
    """A gate for the contract 7 alone."""

    def admit(self, name: str) -> None: ...

    def charge(self) -> None: ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        if contracts is None or set(contracts) != {7}:
            raise RpcError(-32000, "not this contract")


def contract_of(params: Any) -> int:
    named: Named = READ(params) if isinstance(params, bytes) else params
    return named.contract


def alone(params: Named) -> list[Any]:
    return [contract_of(params)]


def alone_in_slices(params: Named) -> Generator[Step, Any, list[Any]]:
    yield None
    return alone(params)


def given(first: Any, params: Named) -> list[Any]:
    return [str(first), contract_of(params)]


def given_in_slices(first: Any, params: Named) -> Generator[Step, Any, list[Any]]:
    yield None
    return given(first, params)


def bare(first: Any) -> list[Any]:
    return [str(first)]


def bare_in_slices(first: Any) -> Generator[Step, Any, list[Any]]:
    yield None
    return bare(first)


TEXT = {"decoder": Text()}
KINDS: dict[str, tuple[Callable[..., Any], dict[str, Any], list[Any]]] = {
    "alone": (alone, {"view": False}, [7]),
    "alone in slices": (alone_in_slices, {"view": False}, [7]),
    "view": (given, {}, ["view", 7]),
    "view in slices": (given_in_slices, {}, ["view", 7]),
    "text": (given, TEXT, ["view", 7]),
    "text in slices": (given_in_slices, TEXT, ["view", 7]),
    "text at once": (given_in_slices, {**TEXT, "at_once": given}, ["view", 7]),
    "caller": (given, {"caller": True}, ["caller", 7]),
    "caller in slices": (given_in_slices, {"caller": True}, ["caller", 7]),
    "channel": (given, {"channel": True}, ["line", 7]),
}
BARE: dict[str, tuple[Callable[..., Any], dict[str, Any], list[Any]]] = {
    "view": (bare, {}, ["view"]),
    "view in slices": (bare_in_slices, {}, ["view"]),
    "caller": (bare, {"caller": True}, ["caller"]),
    "caller in slices": (bare_in_slices, {"caller": True}, ["caller"]),
    "channel": (bare, {"channel": True}, ["line"]),
}
LONG = [0] * (2 * QUICK_VALUES)


def ask(handler: Callable[..., Any], options: dict[str, Any], params: list[Any]) -> Any:
    """Return the reply of a method registered so, to a caller that may name the contract 7 alone."""
    methods = Registry()
    methods.method("it", **options)(handler)
    return answered(methods, params)


def answered(methods: Registry, params: list[Any]) -> Any:
    dispatcher = Dispatcher(methods, lambda _caller: View(), clock=stopped)
    session = Conversation(dispatcher, "caller", OnlySeven())
    session.channel = Line()
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "it", "params": params})
    answer = session.receive(text.encode())
    session.end_turn()
    return json.loads(whole(run(answer) if isinstance(answer, CallTask) else answer))


@pytest.mark.parametrize("more", [[], LONG], ids=["short", "read in a thread"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_handler_is_given_what_it_is_registered_for(kind: str, more: list[int]) -> None:
    handler, options, expected = KINDS[kind]
    assert ask(handler, options, [7, more])["result"] == expected


@pytest.mark.parametrize("kind", BARE)
def test_a_handler_without_parameters_is_given_none(kind: str) -> None:
    handler, options, expected = BARE[kind]
    assert ask(handler, options, [])["result"] == expected
    assert ask(handler, options, [7])["error"]["code"] == -32602


@pytest.mark.parametrize("more", [[], LONG], ids=["short", "read in a thread"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_lets_another_contract_pass(kind: str, more: list[int]) -> None:
    handler, options, expected = KINDS[kind]
    options = {**options, "contracts": lambda params: [params.contract]}
    assert ask(handler, options, [7, more])["result"] == expected
    assert ask(handler, options, [8, more])["error"]["message"] == "not this contract"


@pytest.mark.parametrize("kind", KINDS)
def test_an_observed_method_does_the_same_and_tells_of_it(kind: str) -> None:
    handler, options, expected = KINDS[kind]
    heard: list[Any] = []
    methods = Registry()
    methods.method("it", **options)(handler)
    methods.observe("it", lambda name, arguments, result: heard.append((name, len(arguments), result)))
    assert answered(methods, [7])["result"] == expected
    assert heard == [("it", 1, expected)]
