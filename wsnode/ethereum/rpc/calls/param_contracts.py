"""Contracts in the parameters of calls: those called, and those overridden."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.overrides import NO_STATE_OVERRIDES, StateOverrides


def targets(
    calls: Sequence[CallObject], overrides: StateOverrides = NO_STATE_OVERRIDES
) -> Iterable[int] | None:
    """Return the contracts that calls name, None if their code can read any contract."""
    # Code in a call's own data can read any contract, and so can overridden code.
    called = [call.to for call in calls if call.to is not None]
    if len(called) < len(calls) or (overrides and overrides.contracts is None):
        return None
    return map(int.from_bytes, chain(called, overrides.contracts or ()))


def targets_of_call(params: Any) -> Iterable[int] | None:
    """Return the addresses, as integers, that `call` and `state_overrides` name; None if their code can read
    any contract.
    """
    return targets([params.call], params.state_overrides)


def targets_of_transaction(params: Any) -> Iterable[int] | None:
    """Return the address, as an integer, that `transaction` calls, since its estimate can reveal a revert
    reason; None for a creation, which can read any contract.
    """
    return targets([params.transaction])
