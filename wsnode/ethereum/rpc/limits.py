"""How much one call may ask for; an operator may change each."""

import msgspec


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are the specification's where it names one, otherwise geth's."""

    logs_results: int = 10_000
    logs_parameters: int = 5_000
    logs_seconds: float = 10.0

    logs_slice: int = 500
    """Logs rendered between two looks at the time and at other callers: well under a millisecond of work."""

    logs_page_bytes: int = (1 << 20) - 4096
    """Many clients take messages of 1 MiB by default; the rest is for the envelope and a long id."""

    subscriptions_parameters: int = 500_000
    """Addresses and topics that all subscriptions name together: about 250 bytes each."""

    subscriptions_parameters_per_connection: int = 125_000
    """The same of those of one connection, so that it takes four to use up what there is for all."""

    filters: int = 10_000
    """Filters that clients poll, in the whole network."""

    filters_per_key: int = 1_000
    """Filters of one key, where keys are asked for."""

    filters_parameters: int = 500_000
    """Addresses and topics that all filters name together."""

    filter_seconds: float = 300.0
    """How long a filter lives that nobody asks."""

    call_seconds: float = 5.0

    call_gas_blocks: int = 10
    """How many times its block's gas limit a call may use."""

    simulation_gas: int = 50_000_000
    """Gas of all calls of a simulation together; geth's, for it shows in the hashes of their transactions."""

    call_inline_jumps: int = 5_000
    """Jumps and calls that a call may make while everybody waits: about a millisecond of ordinary code."""

    trace_seconds: float = 5.0
    """How long the trace of one transaction may take unless its caller names a `timeout`."""

    trace_longest_seconds: float = 60.0
    """How long a trace may take whatever its caller names."""

    trace_bytes: int = 64 * 1024 * 1024
    """The traces of one call: half a million steps or so."""


DEFAULT_LIMITS = CallLimits()
