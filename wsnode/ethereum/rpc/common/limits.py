"""Limits of single calls; an operator can change each."""

from typing import Annotated, Final, TypeAlias

import msgspec

from wsnode.jsonrpc.session_limits import Count, CountOrZero, MessageBytes, Seconds

MOST_VALUES: Final = 20_000
"""Addresses and topics of a filter that are decoded at all: 1.5 us each."""
MOST_LIVE: Final = 20_000
"""Accounts and slots of a subscription that are decoded at all: 1 us each."""
Gas: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of calls; the defaults are the specification's where it names one, otherwise geth's."""

    logs_results: Count = 10_000
    logs_parameters: Annotated[int, msgspec.Meta(ge=0, le=MOST_VALUES)] = 5_000
    logs_seconds: Seconds = 10.0

    logs_slice: Count = 500
    """Logs rendered between two checks of the time and of other callers: well under a millisecond of work."""

    logs_page_bytes: MessageBytes = (1 << 20) - 4096
    """Many clients accept messages of 1 MiB by default; the rest is for the envelope and a long id."""

    subscriptions_parameters: CountOrZero = 500_000
    """Addresses and topics that all subscriptions name together: about 250 bytes each."""

    subscriptions_parameters_per_connection: CountOrZero = 125_000
    """Addresses and topics of one connection's subscriptions: a quarter of the total above."""

    live_calls_per_subscription: Annotated[int, msgspec.Meta(ge=1, le=MOST_LIVE)] = 1_000
    """Accounts and slots, or calls, of one subscription to values of the state."""

    live_calls_per_connection: Count = 10_000
    """Accounts, slots and calls of one connection's subscriptions to values."""

    live_call_gas: Gas = 50_000_000
    """Gas of a live call, unless it names less."""

    live_reads: Count = 1_024
    """Values of the state that a live call may read; one that reads more runs after each block."""

    live_bytes: MessageBytes = 256 * 1024 * 1024
    """Bytes of live calls, of their outcomes and of the values they read, of all networks in a process."""

    live_share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.25
    """The part of the time between two blocks, on all cores, that runs of live calls take."""

    live_proofs: Count = 2_000
    """Values of subscriptions to state, and of live calls, to be proved after a block of a light folder."""

    filters: CountOrZero = 10_000
    """Filters that clients poll, in the whole network."""

    filters_per_key: CountOrZero = 1_000
    """Filters of one key, on a node that requires keys."""

    filters_parameters: CountOrZero = 500_000
    """Addresses and topics that all filters name together."""

    filter_seconds: Seconds = 300.0
    """Lifetime of a filter that is not polled."""

    min_block_seconds: Seconds = 2.0
    """Seconds for which a call or a connection waits for a block of other nodes."""

    behind_waiting: Count = 10_000
    """Calls and connections that may wait for such blocks at the same time; a further one gets -32005 or 503.
    """

    call_seconds: Seconds = 5.0

    call_gas_blocks: Count = 10
    """Gas of a call, in multiples of its block's gas limit."""

    simulation_gas: Gas = 50_000_000
    """Gas of all calls of a simulation together; geth's value, because transaction hashes depend on it."""

    call_inline_jumps: CountOrZero = 20_000
    """Jumps and calls of a call that runs on the main thread, 12 ns each: a quarter of a millisecond at most.

    An estimate of a token transfer takes 3,000 to 8,000, because each run counts the gas of what it writes.
    """

    trace_seconds: Seconds = 5.0
    """Seconds of one transaction's trace, unless the caller sets a `timeout`."""

    trace_longest_seconds: Seconds = 60.0
    """Seconds of a trace, a witness or a range of storage, whatever `timeout` the caller sets."""

    trace_block_bytes: MessageBytes = 10 * 1024 * 1024
    """The RLP of a block sent for tracing; consensus refuses larger ones since Osaka."""

    history_bytes: MessageBytes = 16 * 1024 * 1024
    """Lists of later blocks' changes, which are undone in memory: half a million slots, 360 MB."""

    witness_bytes: MessageBytes = 24 * 1024 * 1024
    """Code and trie nodes of an execution witness; the reply is twice as long."""

    storage_range_results: Count = 10_000
    """Slots of one debug_storageRangeAt."""

    trace_filter_results: Count = 10_000
    """Traces that one trace_filter returns."""

    trace_filter_seconds: Seconds = 10.0

    search_seconds: Seconds = 10.0
    """Seconds of one ots_search…; its page has the results that were found before."""

    search_transactions: CountOrZero = 2_000
    """Transactions that one ots_search… reads, block by block, before it uses the indices of changes."""

    search_page: Count = 25
    """Maximum number of transactions of a page of ots_search…; erigon's value."""

    trace_bytes: MessageBytes = 64 * 1024 * 1024
    """The traces of one call: about half a million steps."""


DEFAULT_LIMITS = CallLimits()
