"""How much one call may ask for; an operator may change each."""

from typing import Annotated, TypeAlias

import msgspec

from wsnode.jsonrpc.bounds import Allowance, Count, Room, Seconds

Gas: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are the specification's where it names one, otherwise geth's."""

    logs_results: Count = 10_000
    logs_parameters: Allowance = 5_000
    logs_seconds: Seconds = 10.0

    logs_slice: Count = 500
    """Logs rendered between two looks at the time and at other callers: well under a millisecond of work."""

    logs_page_bytes: Room = (1 << 20) - 4096
    """Many clients take messages of 1 MiB by default; the rest is for the envelope and a long id."""

    subscriptions_parameters: Allowance = 500_000
    """Addresses and topics that all subscriptions name together: about 250 bytes each."""

    subscriptions_parameters_per_connection: Allowance = 125_000
    """The same of those of one connection, so that it takes four to use up what there is for all."""

    filters: Allowance = 10_000
    """Filters that clients poll, in the whole network."""

    filters_per_key: Allowance = 1_000
    """Filters of one key, where keys are asked for."""

    filters_parameters: Allowance = 500_000
    """Addresses and topics that all filters name together."""

    filter_seconds: Seconds = 300.0
    """How long a filter lives that nobody asks."""

    call_seconds: Seconds = 5.0

    call_gas_blocks: Count = 10
    """How many times its block's gas limit a call may use."""

    simulation_gas: Gas = 50_000_000
    """Gas of all calls of a simulation together; geth's, for it shows in the hashes of their transactions."""

    call_inline_jumps: Allowance = 5_000
    """Jumps and calls that a call may make while everybody waits: about a millisecond of ordinary code."""

    trace_seconds: Seconds = 5.0
    """How long the trace of one transaction may take unless its caller names a `timeout`."""

    trace_longest_seconds: Seconds = 60.0
    """How long a trace, a witness or a look through storage may take, whatever its caller names."""

    trace_block_bytes: Room = 10 * 1024 * 1024
    """The RLP of a block that is sent to be traced; larger ones are refused by consensus since Osaka."""

    history_bytes: Room = 16 * 1024 * 1024
    """Lists of what later blocks changed, which is taken back in memory: half a million slots, 360 MB."""

    witness_bytes: Room = 24 * 1024 * 1024
    """Code and trie nodes of an execution witness: twice as much in the reply."""

    storage_range_results: Count = 10_000
    """Slots of one debug_storageRangeAt."""

    trace_filter_results: Count = 10_000
    """Traces that one trace_filter returns."""

    trace_filter_seconds: Seconds = 10.0

    search_seconds: Seconds = 10.0
    """How long one ots_search… looks; what it has found then is its page."""

    search_transactions: Allowance = 2_000
    """Of how many transactions one ots_search… looks at every block before it goes by what changed."""

    search_page: Count = 25
    """Transactions that a page of ots_search… may be asked for; erigon's."""

    trace_bytes: Room = 64 * 1024 * 1024
    """The traces of one call: half a million steps or so."""


DEFAULT_LIMITS = CallLimits()
