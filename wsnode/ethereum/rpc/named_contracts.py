"""Which contracts the parameters of a method name, for keys that may name some only."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec

from wsnode.ethereum.codec.rlp import recipient_of
from wsnode.ethereum.rpc.accounts.methods import AccountParameters, StorageParameters
from wsnode.ethereum.rpc.accounts.proofs import ProofParameters
from wsnode.ethereum.rpc.accounts.storage_ranges import StorageRangeParameters
from wsnode.ethereum.rpc.accounts.storage_values import StorageValuesParameters
from wsnode.ethereum.rpc.calls.access_lists import AccessListParameters
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.execution import CallParameters
from wsnode.ethereum.rpc.calls.overrides import NO_STATE_OVERRIDES, StateOverrides
from wsnode.ethereum.rpc.calls.simulate import SimulationParameters
from wsnode.ethereum.rpc.development.accounts import TransactionSyncParameters
from wsnode.ethereum.rpc.development.parameters import ReorganisationObject
from wsnode.ethereum.rpc.development.reorganising import AnvilParameters, ObjectParameters
from wsnode.ethereum.rpc.form.text_parameters import TextParameters
from wsnode.ethereum.rpc.logs.methods import LogParameters
from wsnode.ethereum.rpc.logs.pages import PageParameters
from wsnode.ethereum.rpc.logs.subscription_options import SubscribeParameters
from wsnode.ethereum.rpc.otterscan.parameters import CodeParameters, ContractParameters, SearchParameters
from wsnode.ethereum.rpc.parity import calls as parity_calls
from wsnode.ethereum.rpc.parity.filtering import FilterParameters
from wsnode.ethereum.rpc.traces.methods import CallTraceParameters, EncodedTraceParameters
from wsnode.ethereum.rpc.transactions.filling import TransactionParameters
from wsnode.jsonrpc.parameters import ParameterDecoder
from wsnode.jsonrpc.registry import Registry

OF_ANY_ACCOUNT = (
    "eth_getBalance",
    "eth_getTransactionBySenderAndNonce",
    "eth_getTransactionCount",
    "ots_getTransactionBySenderAndNonce",
    "txpool_contentFrom",
)
"""What users ask of their own accounts, which no list can name beforehand."""

OF_NOBODY = ("debug_codeByHash",)
"""What reads of contracts without naming them."""


def add_named_contracts(registry: Registry) -> None:
    """Tell `registry` of each method that names contracts."""
    for method in registry.methods.values():
        if method.name in OF_NOBODY:
            method.contracts = _of_any
        elif method.parameters.struct in _FINDERS and method.name not in OF_ANY_ACCOUNT:
            method.contracts = _finder(method.parameters)


def _finder(parameters: ParameterDecoder) -> Callable[[Any], Iterable[int] | None]:
    find = _FINDERS[parameters.struct]
    if isinstance(parameters, TextParameters):
        read = parameters.read
        return lambda text: find(read(text))
    return find


def _of_account(params: Any) -> Sequence[int]:
    return _numbers([params.address])


def _of_any(_params: Any) -> None:
    # A block that is sent along may hold calls of whatever its sender likes.
    return None


def _of_slots(params: StorageValuesParameters) -> Sequence[int]:
    return _numbers(params.slots)


def _of_call(
    params: CallParameters | AccessListParameters | parity_calls.CallParameters,
) -> Iterable[int] | None:
    return _of_calls([params.call], params.state_overrides)


def _of_traced_call(params: CallTraceParameters) -> Iterable[int] | None:
    return _of_calls([params.call], params.options.state_overrides)


def _of_transaction(params: TransactionParameters | TransactionSyncParameters) -> Iterable[int] | None:
    # Its gas is estimated, and what it reverts with is told.
    return _of_calls([params.transaction], NO_STATE_OVERRIDES)


def _of_reorganisation(params: ObjectParameters) -> Iterable[int] | None:
    return _of_placed(params.reorganisation)


def _of_placed(params: AnvilParameters | ReorganisationObject) -> Iterable[int] | None:
    calls = [placed.call for placed in params.transactions if placed.call is not None]
    return _of_calls(calls, NO_STATE_OVERRIDES)


def _of_calls_in_a_row(params: parity_calls.CallsParameters) -> Iterable[int] | None:
    return _of_calls([call for call, _types in params.calls], NO_STATE_OVERRIDES)


def _of_raw(params: parity_calls.RawParameters) -> Sequence[int] | None:
    target = recipient_of(params.transaction)
    return None if target is None else _numbers([target])


def _of_simulation(params: SimulationParameters) -> Iterable[int] | None:
    named: list[Iterable[int]] = []
    for block in params.simulation.blocks:
        if (of_block := _of_calls(block.calls, block.state_overrides)) is None:
            return None
        named.append(of_block)
    return chain.from_iterable(named)


def _of_calls(calls: Sequence[CallObject], overrides: StateOverrides) -> Iterable[int] | None:
    # Code that a call brings along can read whatever it likes, and so can overridden code.
    targets = [call.to for call in calls if call.to is not None]
    if len(targets) < len(calls) or (overrides and overrides.contracts is None):
        return None
    return map(int.from_bytes, chain(targets, overrides.contracts or ()))


def _of_logs(params: LogParameters) -> Sequence[int] | None:
    return _numbers(params.filter.addresses) or None


def _of_traces(params: FilterParameters) -> Sequence[int] | None:
    wanted = params.filter
    return _numbers([*wanted.from_addresses, *wanted.to_addresses]) or None


def _of_log_page(params: PageParameters) -> Sequence[int] | None:
    return _numbers(params.filter.filter.addresses) or None


def _of_subscription(params: SubscribeParameters) -> Sequence[int] | None:
    # Only logs are of contracts; whatever else can be subscribed to names none.
    return _numbers(params.argument[0].addresses) or None if params.kind == "logs" else ()


def _numbers(addresses: Iterable[bytes]) -> list[int]:
    return [int.from_bytes(address) for address in addresses]


_FINDERS: dict[type[msgspec.Struct] | None, Callable[[Any], Iterable[int] | None]] = {
    AccountParameters: _of_account,
    StorageParameters: _of_account,
    ProofParameters: _of_account,
    StorageValuesParameters: _of_slots,
    CallParameters: _of_call,
    AccessListParameters: _of_call,
    CallTraceParameters: _of_traced_call,
    TransactionParameters: _of_transaction,
    TransactionSyncParameters: _of_transaction,
    AnvilParameters: _of_placed,
    ObjectParameters: _of_reorganisation,
    parity_calls.CallParameters: _of_call,
    parity_calls.CallsParameters: _of_calls_in_a_row,
    parity_calls.RawParameters: _of_raw,
    FilterParameters: _of_traces,
    CodeParameters: _of_account,
    SearchParameters: _of_account,
    ContractParameters: _of_account,
    SimulationParameters: _of_simulation,
    LogParameters: _of_logs,
    PageParameters: _of_log_page,
    SubscribeParameters: _of_subscription,
    StorageRangeParameters: _of_account,
    EncodedTraceParameters: _of_any,
}
