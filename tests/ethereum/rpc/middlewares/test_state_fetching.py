"""Calls that lack something: it is fetched, they are made again on the same view, and others lose nothing."""

import json
from collections.abc import Generator
from typing import Any

import msgspec
import pytest
import trio

from tests.memory_transport import memory_transport
from wsnode.ethereum.rpc.middlewares.state_fetching import ChainRegistry
from wsnode.ethereum.state_fetchers import Fetch
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.session_limits import SessionBounds
from wsnode.jsonrpc.work import Await, Step


class LackedError(Exception):
    """A name is not known."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Named(msgspec.Struct, array_like=True, frozen=True):
    """`[name]`."""

    name: str


class View:
    """A moment; each has its own number."""

    opened = closed = 0

    def __enter__(self) -> int:
        View.opened += 1
        return View.opened

    def __exit__(self, *_details: object) -> None:
        View.closed += 1


class Store:
    """Known names, of which all others can be fetched; implements `StateFetchers`."""

    def __init__(self) -> None:
        self.known = set[str]()
        self.fetched: list[str] = []
        self.views: list[int] = []
        self.at_once: list[int] = []
        """How many fetches have begun together, each time."""
        self.begun = 0
        self.failure: RpcError | None = None
        self.has_moved = False
        """Whether what calls see is not the present moment any more."""

    def is_lack(self, error: Exception) -> bool:
        return isinstance(error, LackedError)

    def begin(self, method: str, params: bytes, view: int) -> "Account":
        assert params.startswith(b"[")
        return Account(self)

    def find(self, view: int, name: str) -> str:
        self.views.append(view)
        if name not in self.known:
            raise LackedError(name)
        return name

    def quick(self, view: int, params: Named) -> str:
        """Return the name."""
        return self.find(view, params.name)

    def slow(self, view: int, params: Named) -> Generator[Step, Any, str]:
        """Return two names."""
        first = self.find(view, params.name)
        yield None
        return first + self.find(view, f"{params.name}!")

    def learn(self, params: Named) -> Generator[Step, Any, list[str]]:
        """Return what is known, and then know a name."""

        async def work() -> list[str]:
            known = sorted(self.known)
            self.known.add(params.name)
            return known

        known: list[str] = yield Await(work)
        return known


class Account:
    """What one call has lacked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rounds = 0

    def fetch_for(self, error: Exception) -> Fetch | None:
        if not isinstance(error, LackedError):
            return None
        self._rounds += 1
        if self._rounds > 2:
            raise RpcError(-32005, "too much")
        name = error.name

        async def fetch() -> None:
            self._store.begun += 1
            await trio.lowlevel.checkpoint()
            if self._store.begun:
                self._store.at_once.append(self._store.begun)
                self._store.begun = 0
            if self._store.failure is not None:
                raise self._store.failure
            self._store.fetched.append(name)
            if name != "never":
                self._store.known.add(name)

        return fetch

    def moves_on(self) -> bool:
        has_moved, self._store.has_moved = self._store.has_moved, False
        if has_moved:
            self._store.failure, self._rounds = None, 0
        return has_moved


@pytest.fixture
def store() -> Store:
    return Store()


def asked(store: Store, message: Any, bounds: SessionBounds | None = None) -> Any:
    registry = ChainRegistry()
    registry.method("quick")(store.quick)
    registry.method("slow")(store.slow)
    registry.method("learn", view=False)(store.learn)
    registry.fetch_state(store, [RpcError(-32002, "not there")])
    assert -32002 in {error.code for error in registry.methods["quick"].errors}
    dispatcher = Dispatcher(registry, lambda _caller: View(), bounds=bounds)
    reply = memory_transport(dispatcher, "caller")(json.dumps(message))
    assert reply is not None
    return json.loads(reply)


def call(method: str, name: str, identity: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": [name]}


@pytest.mark.parametrize(
    ("method", "result", "rounds"), [("quick", "a", ["a"]), ("slow", "aa!", ["a", "a!"])]
)
def test_a_call_is_made_again_once_what_it_lacked_is_there(
    store: Store, method: str, result: str, rounds: list[str]
) -> None:
    assert asked(store, call(method, "a"))["result"] == result
    assert store.fetched == rounds
    assert len(set(store.views)) == 1
    assert asked(store, call(method, "a"))["result"] == result
    assert store.fetched == rounds


def test_calls_of_a_batch_are_supplied_each(store: Store) -> None:
    replies = asked(store, [call("quick", "a", 1), call("slow", "b", 2), call("quick", "a", 3)])
    assert [(reply["id"], reply["result"]) for reply in replies] == [(1, "a"), (2, "bb!"), (3, "a")]
    assert (sorted(store.fetched[:3]), store.fetched[3:]) == (["a", "a", "b"], ["b!"])


def test_calls_of_a_batch_wait_together_for_what_they_lack(store: Store) -> None:
    store.known |= {"k", "w!"}
    message = [call("quick", "a", 1), call("quick", "k", 2), call("slow", "w", 3), call("slow", "b", 4)]
    replies = asked(store, [*message, {"jsonrpc": "2.0", "method": "quick", "params": ["n"]}])
    assert [reply["result"] for reply in replies] == ["a", "k", "ww!", "bb!"]
    assert [reply["id"] for reply in replies] == [1, 2, 3, 4]
    assert (sorted(store.fetched[:4]), store.fetched[4:]) == (["a", "b", "n", "w"], ["b!"])
    assert store.at_once == [4, 1]
    assert len(set(store.views)) == 1


def test_replies_that_come_late_count_towards_the_bound_of_a_batch(store: Store) -> None:
    store.known.add("k")
    names = ["k", "a" * 400, "b" * 400, "c"]
    bounds = SessionBounds(batch_reply_bytes=700)
    replies = asked(store, [call("quick", name, place) for place, name in enumerate(names)], bounds)
    assert [reply["id"] for reply in replies] == [0, 1, 2, 3]
    assert [reply.get("result") for reply in replies] == ["k", "a" * 400, None, None]
    assert {reply["error"]["code"] for reply in replies[2:]} == {-32003}


def test_one_of_a_batch_that_lacks_too_much_leaves_the_others_theirs(store: Store) -> None:
    replies = asked(store, [call("quick", "never", 1), call("quick", "a", 2)])
    assert [reply.get("result") for reply in replies] == [None, "a"]
    assert replies[0]["error"]["code"] == -32005


def test_what_a_batch_changes_is_read_by_what_follows_it_alone(store: Store) -> None:
    """A call that awaits anything else begins when those before it have their results."""
    replies = asked(store, [call("quick", "a", 1), call("learn", "b", 2), call("quick", "b", 3)])
    assert [reply["result"] for reply in replies] == ["a", ["a"], "b"]
    assert store.fetched == ["a"]


def test_a_call_that_lacks_too_much_ends(store: Store) -> None:
    for method in ("quick", "slow"):
        assert asked(store, call(method, "never"))["error"]["code"] == -32005


def test_what_cannot_be_fetched_is_the_calls_error(store: Store) -> None:
    store.failure = RpcError(-32002, "not there")
    for method in ("quick", "slow"):
        assert asked(store, call(method, "a"))["error"] == {"code": -32002, "message": "not there"}


@pytest.mark.parametrize(("method", "result"), [("quick", "a"), ("slow", "aa!")])
def test_a_call_goes_on_at_another_moment_where_its_own_is_past(
    store: Store, method: str, result: str
) -> None:
    store.failure, store.has_moved = RpcError(-32002, "not there"), True
    opened = View.opened
    assert asked(store, call(method, "a"))["result"] == result
    assert set(store.views) == {opened + 1, opened + 2}
    assert View.opened == View.closed == opened + 2


def test_a_call_moves_on_once(store: Store) -> None:
    store.failure, store.has_moved = RpcError(-32002, "not there"), True
    assert asked(store, call("quick", "never"))["error"]["code"] == -32005
    assert len(set(store.views)) == 2


def test_a_batch_stays_at_one_moment(store: Store) -> None:
    store.failure, store.has_moved = RpcError(-32002, "not there"), True
    (reply,) = asked(store, [call("quick", "a")])
    assert reply["error"] == {"code": -32002, "message": "not there"}
    assert len(set(store.views)) == 1


def test_other_failures_stay_what_they_are(store: Store) -> None:
    assert (
        asked(store, {"jsonrpc": "2.0", "id": 1, "method": "quick", "params": [5]})["error"]["code"] == -32602
    )
