"""Values of the state, and results of contract calls: how they are held, and read from a node that is polled.

watching_web3.py and watching_trio.py use it; a program imports from those.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

REVERTED: Final = 3
"""The code of geth, and of those that follow it, for a call that reverts."""
UNKNOWN: Final = (-32601, -32602)
"""How a node refuses a subscription that it does not have."""

Ask = Callable[..., Awaitable[dict[str, Any]]]
"""Sends a method with its parameters, and returns the node's reply."""


class Failed(Exception):  # noqa: N818
    """A reply with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.error = error


class State:
    """Values after a block: of all accounts by address, and of those that changed."""

    def __init__(self, block: dict[str, Any], accounts: dict[str, Any], changed: dict[str, Any]) -> None:
        self.block_number = int(block["blockNumber"], 16)
        self.block_hash: str = block["blockHash"]
        self.timestamp = int(block["timestamp"], 16)
        self.accounts = accounts
        """`balance`, `nonce`, `codeHash` and `slots`, as the node writes them; or `error` in their place."""
        self.changed = changed
        """The members that differ from the last ones."""


class Results:
    """Results of calls after a block, in the order of the calls, and the places of those that changed."""

    def __init__(
        self, block: dict[str, Any], results: list[dict[str, Any] | None], changed: list[int]
    ) -> None:
        self.block_number = int(block["blockNumber"], 16)
        self.block_hash: str = block["blockHash"]
        self.timestamp = int(block["timestamp"], 16)
        self.results = results
        """Each with `result`, or with `error` where the call reverts."""
        self.changed = changed


class StateBook:
    """The values that are held of accounts and slots, and how they are asked for."""

    kind = "state"

    def __init__(
        self, accounts: Iterable[str] = (), slots: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        named = {address: list(some) for address, some in (slots or {}).items()}
        self.options = {"accounts": list(accounts), "slots": named}
        self._whole = {address.lower() for address in self.options["accounts"]}
        self._slots = {address.lower(): [_word(slot) for slot in some] for address, some in named.items()}
        self._held: dict[str, Any] = {}
        self._is_new = True

    def take(self, result: dict[str, Any]) -> State | None:
        """Take what was sent or read; return None if nothing has changed."""
        accounts = result["accounts"]
        changed = _difference(self._held, accounts) if "complete" in result else accounts
        if not changed and not self._is_new:
            return None
        self._is_new = False
        held = dict(self._held)
        for address, change in changed.items():
            before = held.get(address, {})
            if "error" in before or "error" in change:
                before = {}
            held[address] = {**before, **change}
            if slots := {**before.get("slots", {}), **change.get("slots", {})}:
                held[address]["slots"] = slots
        self._held = held
        return State(result, held, changed)

    async def read(self, ask: Ask, block: dict[str, str]) -> dict[str, Any]:
        """Read all values after a block."""
        accounts: dict[str, Any] = {}
        for address in sorted(self._whole | set(self._slots)):
            slots = self._slots.get(address, [])
            proof = await _result(ask, "eth_getProof", address, slots, block)
            account = accounts[address] = {}
            if address in self._whole:
                account |= {name: proof[name] for name in ("nonce", "balance", "codeHash")}
            if slots:
                values = [_word(each["value"]) for each in proof["storageProof"]]
                account["slots"] = dict(zip(slots, values, strict=True))
        return {"accounts": accounts}


class CallBook:
    """The results that are held of calls, and how they are asked for."""

    kind = "calls"

    def __init__(self, calls: Iterable[dict[str, Any]]) -> None:
        self.options = {"calls": list(calls)}
        self._held: list[dict[str, Any] | None] = [None] * len(self.options["calls"])
        self._is_new = True

    def take(self, result: dict[str, Any]) -> Results | None:
        """Take what was sent or read; return None if nothing has changed."""
        changed = []
        held = list(self._held)
        for outcome in result["results"]:
            index = outcome["index"]
            told = {name: value for name, value in outcome.items() if name != "index"}
            if held[index] != told:
                held[index] = told
                changed.append(index)
        if not changed and not self._is_new:
            return None
        self._is_new = False
        self._held = held
        return Results(result, held, changed)

    async def read(self, ask: Ask, block: dict[str, str]) -> dict[str, Any]:
        """Run all calls after a block."""
        results = []
        for index, call in enumerate(self.options["calls"]):
            reply = await ask("eth_call", call, block)
            if "error" in reply and reply["error"]["code"] != REVERTED:
                raise Failed(reply["error"])
            outcome = {name: reply[name] for name in ("result", "error") if name in reply}
            results.append({"index": index} | outcome)
        return {"results": results}


async def look(ask: Ask, book: Any, last: str | None) -> tuple[str, Any]:
    """Return the hash of the latest block, and what is new after it unless it is the `last` one.

    Raises:
        Failed: The node refuses something, or the block has left the chain meanwhile.
    """
    block = await _result(ask, "eth_getBlockByNumber", "latest", False)
    if block["hash"] == last:
        return block["hash"], None
    values = await book.read(ask, {"blockHash": block["hash"]})
    place = {"blockNumber": block["number"], "blockHash": block["hash"], "timestamp": block["timestamp"]}
    return block["hash"], book.take({**place, "complete": True, **values})


async def _result(ask: Ask, method: str, *params: Any) -> Any:
    reply = await ask(method, *params)
    if "error" in reply:
        raise Failed(reply["error"])
    return reply["result"]


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for address, members in after.items():
        old = before.get(address, {})
        change = {
            name: value for name, value in members.items() if name != "slots" and old.get(name) != value
        }
        old_slots = old.get("slots", {})
        slots = {
            slot: value for slot, value in members.get("slots", {}).items() if old_slots.get(slot) != value
        }
        if slots:
            change["slots"] = slots
        if change:
            changed[address] = change
    return changed


def _word(text: str) -> str:
    return f"0x{int(text, 16):064x}"
