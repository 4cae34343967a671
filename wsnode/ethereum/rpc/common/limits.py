"""Limits of single calls; an operator can change each."""

from typing import Annotated, Final, TypeAlias

import msgspec

from wsnode.jsonrpc.session_limits import Count, CountOrZero, MessageBytes, Seconds

MAX_VALUES: Final = 20_000
"""Addresses and topics of a filter that are decoded at all: 1.5 us each."""
MAX_LIVE: Final = 20_000
"""Accounts and slots of a subscription that are decoded at all: 1 us each."""
Gas: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of calls; the defaults are the specification's where it names one, otherwise geth's."""

    logs_results: Count = 10_000
    """Logs: one `eth_getLogs`. Beyond it: `query returned more than 10000 results`, with a range that has
    fewer as data; or use `wsnode_getLogsPage`.
    """
    logs_parameters: Annotated[int, msgspec.Meta(ge=0, le=MAX_VALUES)] = 5_000
    """Addresses and topics: one filter; 20,000 at most. Beyond it: -32602 `query contains N filters. The
    current limit is 5000`.
    """
    logs_seconds: Seconds = 10.0
    """Seconds: the time of one query. Beyond it: `query timeout exceeded`."""
    logs_slice: Count = 500
    """Logs: logs rendered in one slice. Beyond it: the rest waits for the next slice.

    Between two slices the time and other callers have their turn: a slice is well under a millisecond of
    work.
    """
    logs_page_bytes: MessageBytes = (1 << 20) - 4096
    """Bytes: one page of `wsnode_getLogsPage`. Beyond it: the page ends, with a cursor to the next.

    Many clients accept messages of 1 MiB by default; the rest is for the envelope and a long id.
    """
    subscriptions_parameters: CountOrZero = 500_000
    """Addresses, topics and transactions: the sum over all subscriptions of a network. Beyond it: -32005
    `subscriptions name too many addresses, topics and transactions`.

    Each takes about 250 bytes.
    """
    subscriptions_parameters_per_connection: CountOrZero = 125_000
    """Addresses, topics and transactions: the sum over the subscriptions of one connection. Beyond it: the
    same error.
    """
    live_calls_per_subscription: Annotated[int, msgspec.Meta(ge=1, le=MAX_LIVE)] = 1_000
    """Accounts, slots and calls: one subscription to `state` or `calls`; 20,000 at most. Beyond it: -32005
    `too many live calls of a subscription`, data `{limit, given}`.
    """
    live_calls_per_connection: Count = 10_000
    """Accounts, slots and calls: the sum over the subscriptions of one connection. Beyond it: -32005 `too
    many live calls on this connection`, data `{limit}`.
    """
    live_call_gas: Gas = 50_000_000
    """Gas: one call of a subscription to `calls`. Beyond it: -32602 `a live call may have at most N gas`."""
    live_reads: Count = 1_024
    """Values of the state: those that one such call reads. Beyond it: it runs after each block."""
    live_bytes: MessageBytes = 256 * 1024 * 1024
    """Bytes: all such calls of a process, of all networks, their outcomes and what they read. Beyond it:
    -32005 `too many bytes of live calls`, data `{limit}`.
    """
    live_share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.25
    """Part of the time: runs of such calls, of the time between two blocks on all cores. Beyond it: the rest
    runs later.
    """
    live_proofs: Count = 2_000
    """Values: proofs of upstreams after a block of a [light](light.md) folder, for subscriptions to `state`;
    as many for subscribed calls. One subscription to `state` may name as many, each account of a slot
    included. Beyond it: the values have their turn at a later block; a subscription
    that names more: -32005 `too many live calls of a subscription`, data `{limit, given}`.
    """
    filters: CountOrZero = 10_000
    """Filters: polled filters of the whole network. Beyond it: -32005 `too many filters`."""
    filters_per_key: CountOrZero = 1_000
    """Filters: those of one key. Beyond it: -32005 `too many filters`."""
    filters_parameters: CountOrZero = 500_000
    """Addresses and topics: the sum over all filters. Beyond it: -32005 `too many filters`."""
    filter_seconds: Seconds = 300.0
    """Seconds: the lifetime of a filter that is not polled. Beyond it: -32000 `filter not found`."""
    min_block_seconds: Seconds = 2.0
    """Seconds: the wait for a block that other nodes have already, see
    [serving.md](serving.md#several-nodes-of-one-chain). Beyond it: -32001 with `behind: true`; at a handshake
    or by a header HTTP 503.
    """
    behind_waiting: Count = 10_000
    """Calls: calls, requests and handshakes that wait for such blocks, in the whole network. Beyond it: `too
    many calls wait for blocks`; HTTP 503.
    """
    call_seconds: Seconds = 5.0
    """Seconds: the time that one `eth_call`, `eth_estimateGas`, `eth_createAccessList`, `eth_simulateV1` or
    `eth_getProof` runs, without [its wait](#calls). Beyond it: -32000 `execution aborted (timeout = 5s)`.
    """
    call_gas_blocks: Count = 10
    """Times the block's gas limit: the gas of one call. Beyond it: the gas is reduced to this bound."""
    simulation_gas: Gas = 50_000_000
    """Gas: all calls of a simulation together. Beyond it: a call gets what is left of it.

    The default is geth's, because transaction hashes depend on it.
    """
    call_inline_jumps: CountOrZero = 20_000
    """Jumps and calls: the work of a call on the main thread. Beyond it: it runs in a worker thread.

    Each takes 12 ns: a quarter of a millisecond at most. An estimate of a token transfer takes 3,000 to
    8,000, because each run counts the gas of what it writes.
    """
    trace_seconds: Seconds = 5.0
    """Seconds: the trace of one transaction or call that names no `timeout`. Beyond it: -32000 `execution
    timeout`.
    """
    trace_max_seconds: Seconds = 60.0
    """Seconds: the time of a call of `debug_trace…`, `trace_…` or `ots_…`, whatever `timeout` it names; of
    `debug_executionWitness`, `debug_storageRangeAt` and `debug_getModifiedAccounts…`. Beyond it: -32000
    `execution timeout`.
    """
    trace_block_bytes: MessageBytes = 10 * 1024 * 1024
    """Bytes: the block of `debug_traceBlock`; its gas limit is at most `call_gas_blocks` times its parent's.
    Beyond it: `block has more than 10485760 bytes`.

    Consensus refuses longer blocks since Osaka.
    """
    history_bytes: MessageBytes = 16 * 1024 * 1024
    """Bytes: lists of changes since a block (32 bytes for each slot, 22 for each account), which
    `eth_getProof`, `eth_simulateV1` and `debug_executionWitness` undo in memory and
    `debug_getModifiedAccounts…` reads; a list covers all blocks that were committed together. Beyond it:
    `block N is too old: more than 16777216 bytes of changes since`; all calls together undo at most 32 MiB at
    a time, beyond that `too many old blocks are looked at, try again`.

    In memory these are half a million slots, 360 MB.
    """
    witness_bytes: MessageBytes = 24 * 1024 * 1024
    """Bytes: the code, and the trie nodes, of a witness. Beyond it: `more than 25165824 bytes`.

    The reply is twice as long.
    """
    storage_range_results: Count = 10_000
    """Slots: one `debug_storageRangeAt`. Beyond it: the page ends, with the hash of the next slot."""
    trace_filter_results: Count = 10_000
    """Traces: one `trace_filter`. Beyond it: `query returned more than 10000 results`, with a range that has
    fewer as data; or use `after` and `count`.
    """
    trace_filter_seconds: Seconds = 10.0
    """Seconds: the time of one `trace_filter`. Beyond it: `query timeout exceeded`."""
    search_seconds: Seconds = 10.0
    """Seconds: the time of one search. Beyond it: its page ends; if it is empty, `search timeout exceeded`.
    """
    search_transactions: CountOrZero = 2_000
    """Transactions: transactions of the blocks that one search reads in full. Beyond it: it continues by
    indices of changes, see [methods.md](methods.md#otterscan).
    """
    search_page: Count = 25
    """Transactions: a page of `ots_searchTransactions…`. Beyond it: -32602 `max allowed page size: 25`.

    The default is erigon's.
    """
    trace_bytes: MessageBytes = 64 * 1024 * 1024
    """Bytes: the traces of one call, or a page of a search. Beyond it: -32003 `response too large`.

    The default is about half a million steps.
    """


DEFAULT_LIMITS = CallLimits()
