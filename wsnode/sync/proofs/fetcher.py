"""Fetch of missing values of a proved state, a round at a time; calls that lack the same values share it."""

from collections.abc import Iterable, Set
from functools import partial
from typing import Any, Final

import trio
import trio.lowlevel

from wsnode.ethereum.head import Head
from wsnode.ethereum.not_found import no_state
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import MissingStateError, NotExecutedError, UnprovedError
from wsnode.ethereum.state_fetchers import Fetch
from wsnode.jsonrpc.errors import LIMIT_EXCEEDED, RESOURCE_UNAVAILABLE, RpcError, server_error
from wsnode.sync.proofs.blocks import ProofBlock
from wsnode.sync.proofs.client import ProofClient
from wsnode.untrusted.decoding import MalformedError, decode_json

MAX_ROUNDS: Final = 8
MAX_PROOFS: Final = 256
MAX_TOGETHER: Final = 1000
"""Values of a round from which on another round begins."""
SHOWN: Final = 16
"""Maximum number of values that an error names."""
FORESEEN: Final = frozenset({"eth_call", "eth_estimateGas", "eth_createAccessList", "debug_traceCall"})
"""Methods with a call as first parameter, so another node can predict its reads."""

PROOF_ERRORS: Final = (
    RpcError(RESOURCE_UNAVAILABLE, "the state of block N is not proved: …"),
    server_error("execution touches ADDRESS (NAME), which runs inside ArbOS: wsnode cannot execute it"),
    RpcError(
        LIMIT_EXCEEDED, "it reads more of the state than may be fetched for one call: N rounds, M proofs"
    ),
)

Key = tuple[bytes, bytes]
"""Address and slot; the slot is empty for the account itself."""
Place = tuple[ProofBlock, Key | int]
"""Missing item after a block: a value, or the hash of an earlier block by its number."""


class _Gathering:
    """Round of fetching state after one block that has not begun yet, so other calls may still add missing
    values.
    """

    def __init__(self, block: ProofBlock) -> None:
        self.block = block
        self.keys: set[Key | int] = set()
        self.arrived = trio.Event()
        self.has_failed = False


class ProofFetcher:
    """Fetcher of the state that calls of one chain lack, in rounds shared by all calls; implements
    `StateFetchers`.
    """

    def __init__(self, provers: ProofClient) -> None:
        self.provers = provers
        self.rounds = 0
        self._on_the_way: dict[Place, trio.Event] = {}
        self._gathering: dict[ProofBlock, _Gathering] = {}
        """Rounds that have not begun yet, by block."""

    def is_lack(self, error: Exception) -> bool:
        """Return True for an error of missing or unproved state, or of what only ArbOS can execute."""
        return isinstance(error, MissingStateError | UnprovedError | NotExecutedError)

    def begin(self, method: str, params: bytes, view: Any) -> "CallFetchSession":
        return CallFetchSession(self, method, params, view.head if isinstance(view, Snapshot) else None)

    async def carry(self, error: MissingStateError) -> bool:
        """Keep the missing values that follow from earlier states and access lists.

        `error` then names only the others. Returns True if any was kept.

        Raises:
            RpcError: The block is not on the chain any more.
        """
        before = len(error.accounts) + len(error.slots)
        others = await self.provers.carry(error.accounts, error.slots, self.provers.blocks.block_of(error))
        error.accounts = [each.address for each in others if each.with_code]
        error.slots = [(each.address, slot) for each in others for slot in each.slots]
        return len(error.accounts) + len(error.slots) < before

    async def fetch(self, error: MissingStateError, hint: Any = None) -> None:
        """Fetch the missing values of a run, and the reads that a node predicts for the call in `hint`.

        Raises:
            RpcError: No node proves them.
        """
        block = self.provers.blocks.block_of(error)
        accounts, slots = set(error.accounts), set(error.slots)
        if hint is not None:
            room = MAX_PROOFS - len(accounts) - len(slots)
            for each in await self.provers.guess(hint, block):
                if (room := room - each.proofs) < 0:
                    break
                accounts.add(each.address)
                slots |= {(each.address, slot) for slot in each.slots}
        keys: set[Key | int] = {(address, b"") for address in accounts} | slots | set(error.numbers)
        await self._fetch_new(block, keys)

    async def _fetch_new(self, block: ProofBlock, keys: Set[Key | int]) -> None:
        missing = keys
        while missing:
            missing = await self._fetch_those_that_may(block, missing)

    async def _fetch_those_that_may(self, block: ProofBlock, keys: Set[Key | int]) -> Set[Key | int]:
        """Fetch the keys that no other call fetches, wait for the others; return slots that waited for their
        accounts.

        A proof of a slot is kept with the code of its account, so the account is fetched first or together
        with it.
        """
        shared = {key: self._on_the_way[block, key] for key in keys if (block, key) in self._on_the_way}
        gathering = self._gathering.get(block)
        if gathering is not None and len(gathering.keys) >= MAX_TOGETHER:
            gathering = None
        held = self._behind_their_accounts(block, keys - shared.keys(), gathering)
        new = keys - shared.keys() - held.keys()
        if new and gathering is not None:
            self._add(gathering, new)
            await gathering.arrived.wait()
            if gathering.has_failed:
                await self._round(block, new | _accounts_of(new) & keys)
        elif new:
            await self._lead(block, new)
        for event in {*shared.values(), *held.values()}:
            # If the other call's fetch failed, this call lacks the value again and fetches it itself.
            await event.wait()
        return held.keys() | _accounts_of(held)

    def _behind_their_accounts(
        self, block: ProofBlock, keys: Set[Key | int], gathering: "_Gathering | None"
    ) -> dict[Key | int, trio.Event]:
        """Return slots of accounts in a round of other calls that is closed to them, each with the round's
        event.
        """
        found: dict[Key | int, trio.Event] = {}
        for key in keys:
            (account,) = _accounts_of([key]) or {key}
            event = self._on_the_way.get((block, account))
            if event is not None and (gathering is None or event is not gathering.arrived):
                found[key] = event
        return found

    def _add(self, gathering: "_Gathering", new: Set[Key | int]) -> None:
        gathering.keys |= new
        self._on_the_way |= {(gathering.block, key): gathering.arrived for key in new}

    async def _lead(self, block: ProofBlock, new: Set[Key | int]) -> None:
        """Fetch the missing values of a call, and those that other calls add before the round begins."""
        self._gathering[block] = gathering = _Gathering(block)
        self._add(gathering, new)
        try:
            await trio.lowlevel.checkpoint()
            self._stop_gathering(gathering)
            try:
                await self._round(block, gathering.keys)
            except RpcError:
                if gathering.keys == new:
                    raise
                # A value that only one of the calls lacks may have caused the failure, so each call fetches
                # its own values.
                gathering.has_failed = True
                gathering.arrived.set()
                await self._round(block, new)
        finally:
            self._stop_gathering(gathering)
            for key in gathering.keys:
                del self._on_the_way[block, key]
            gathering.arrived.set()

    def _stop_gathering(self, gathering: "_Gathering") -> None:
        if self._gathering.get(gathering.block) is gathering:
            del self._gathering[gathering.block]

    async def _round(self, block: ProofBlock, new: Set[Key | int]) -> None:
        values = [key for key in new if not isinstance(key, int)]
        accounts = [address for address, slot in values if not slot]
        wanted = await self.provers.carry(accounts, [key for key in values if key[1]], block)
        numbers = [key for key in new if isinstance(key, int)]
        self.rounds += bool(wanted or numbers)
        if wanted:
            await self.provers.prove(wanted, block)
        if numbers:
            await self.provers.name(numbers, block)


def _accounts_of(keys: Iterable[Key | int]) -> set[Key | int]:
    """Return the keys of the accounts of these slots."""
    return {(key[0], b"") for key in keys if not isinstance(key, int) and key[1]}


class CallFetchSession:
    """Record of the fetches for one call so far, which bounds them; implements `FetchSession`."""

    def __init__(self, supply: ProofFetcher, method: str, params: bytes, head: Head | None = None) -> None:
        self._supply = supply
        self._method = method
        self._params = params
        self._rounds = self._proofs = 0
        self._is_foreseen = False
        self._head = head
        self._lacked_at: tuple[int, bytes] | None = None

    def fetch_for(self, error: Exception) -> Fetch | None:
        if isinstance(error, UnprovedError):
            raise no_state(str(error)) from None
        if isinstance(error, NotExecutedError):
            raise not_executed(error) from None
        if not isinstance(error, MissingStateError):
            return None
        self._lacked_at = error.block
        self._rounds += 1
        self._proofs += len(error.accounts) + len(error.slots)
        if self._rounds > MAX_ROUNDS or self._proofs > MAX_PROOFS:
            raise too_much(error)
        # The frames of the traceback hold the call's view, and would live as long as the returned function.
        error.__traceback__ = None
        hint = None
        # If the code of all accounts is known, a run finds most of what it reads by itself, so no hint is
        # needed.
        if not self._is_foreseen and not self._supply.provers.have_proved(error.accounts):
            self._is_foreseen, hint = True, self._hint()
        return partial(self._supply.fetch, error, hint)

    def moves_on(self) -> bool:
        """Return True if the call lacks state of its head, and another block is the head now."""
        head = self._head
        if head is None or self._lacked_at != (head.number, head.hash):
            return False
        if self._supply.provers.blocks.head() == head:
            return False
        self._rounds = self._proofs = 0
        return True

    def _hint(self) -> Any:
        if self._method not in FORESEEN:
            return None
        try:
            params = decode_json(self._params)
        except MalformedError:
            return None
        return params[0] if isinstance(params, list) and params else None


def not_executed(error: NotExecutedError) -> RpcError:
    """Return the error of a call to code that only the chain's own node runs."""
    return server_error(str(error), {"address": hexadecimal(error.address), "kind": error.kind})


def too_much(error: MissingStateError) -> RpcError:
    """Return the error of a call that reads more than may be fetched for it."""
    slots = [[hexadecimal(address), hexadecimal(slot)] for address, slot in error.slots]
    missing = {
        "accounts": [hexadecimal(address) for address in error.accounts[:SHOWN]],
        "slots": slots[:SHOWN],
        "blocks": list(error.numbers[:SHOWN]),
    }
    return RpcError(
        LIMIT_EXCEEDED,
        f"it reads more of the state than may be fetched for one call: {MAX_ROUNDS} rounds, "
        f"{MAX_PROOFS} proofs",
        {"missing": missing, "rounds": MAX_ROUNDS, "proofs": MAX_PROOFS},
    )
