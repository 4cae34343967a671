"""The options of traces: the tracer and its settings, with geth's errors."""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from wsnode.ethereum.rpc.calls.overrides import (
    NO_BLOCK_OVERRIDES,
    NO_STATE_OVERRIDES,
    BlockOverrides,
    StateOverrides,
    decode_block_overrides,
    decode_state_overrides,
)
from wsnode.ethereum.rpc.common.decoding import decode_quantity, field, kind, mismatch
from wsnode.ethereum.rpc.debug_traces.schemas import CALL_TRACE_OPTIONS, FLAGS, MUX, SETTINGS, TRACE_OPTIONS
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, server_error

_Overrides = TypeVar("_Overrides")
MAX_NESTED: Final = 50
"""Levels of nested tracers."""
NOT_SUPPORTED: Final = frozenset({"erc7562Tracer", "keccak256PreimageTracer"})
MAX_NAME: Final = 100
"""Maximum number of characters of a tracer's name; a longer one is a script or invalid."""
_IDENTIFIER: Final = re.compile(r"([A-Za-z_$][\w$]*)(?:\.[A-Za-z_$][\w$]*)*")
# Reserved words of JavaScript.
_RESERVED: Final = re.compile(
    r"break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|export|extends|false|"
    r"finally|for|function|if|import|in|instanceof|let|new|null|return|super|switch|this|throw|true|"
    r"try|typeof|var|void|while|with|yield|undefined|NaN|Infinity"
)


class TraceOptions:
    """Options of a trace: the tracer, its settings, and a time limit; without a tracer, the result is geth's
    struct logs.
    """

    tracer: str | None = None
    tracer_config: Any = None
    timeout: str | None = None
    limit: int = 0

    def __init__(self) -> None:
        self.flags: dict[str, bool] = {}

    def encoded(self) -> bytes:
        """Return the options as JSON for the engine.

        Raises:
            RpcError: The tracer does not exist, or its settings are malformed.
        """
        options: dict[str, Any] = {**self.flags, "limit": self.limit}
        if self.tracer is not None:
            options["tracer"] = self.tracer
            options["tracerConfig"] = _settings(self.tracer, self.tracer_config, MAX_NESTED)
        return msgspec.json.encode(options)


class CallTraceOptions(TraceOptions):
    """Options of debug_traceCall: the tracer and its settings, state and block overrides, and `txIndex`, the
    number of the block's transactions to execute before the call.
    """

    state_overrides: StateOverrides = NO_STATE_OVERRIDES
    block_overrides: BlockOverrides = NO_BLOCK_OVERRIDES
    transactions: int | None = None


NO_OPTIONS: Final = TraceOptions()
NO_CALL_OPTIONS: Final = CallTraceOptions()


def _settings(name: str, config: Any, levels: int) -> dict[str, Any]:
    """Return a tracer's settings under the engine's names."""
    if name == MUX:
        if levels == 0:
            raise server_error(f"tracers are nested more than {MAX_NESTED} deep")
        members = _members(config, "map[string]json.RawMessage")
        return {"tracers": {inner: _settings(inner, value, levels - 1) for inner, value in members.items()}}
    if name not in SETTINGS:
        raise unknown_tracer(name)
    struct, known = SETTINGS[name]
    if not known:
        return {}
    settings = {}
    names = {setting.lower(): setting for setting in known}
    for written, value in _members(config, f"native.{struct}").items():
        setting = names.get(written.lower())
        if setting is None or value is None:
            continue
        if type(value) is not bool:
            raise server_error(str(mismatch(kind(value), "bool", field(struct, setting))))
        settings[setting] = value
    if settings.get("diffMode") and settings.get("includeEmpty"):
        raise server_error("cannot use diffMode with includeEmpty")
    return settings


def _members(config: Any, type_name: str) -> dict[str, Any]:
    if config is None:
        return {}
    if type(config) is not dict:
        raise server_error(str(mismatch(kind(config), type_name)))
    return config


def decode_trace_options(value: Any) -> TraceOptions:
    """Return the options that a JSON object describes; names match in any case, unknown ones are ignored.

    Raises:
        ValueError: A member is malformed.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "tracers.TraceConfig")
    options = TraceOptions()
    for name, member in value.items():
        _set(options, name.lower(), member, "TraceConfig", "")
    return options


def decode_call_trace_options(value: Any) -> CallTraceOptions:
    """Return the options of a traced call.

    Raises:
        ValueError: A member is malformed.
    """
    if type(value) is not dict:
        raise mismatch(kind(value), "tracers.TraceCallConfig")
    options, struct = CallTraceOptions(), "TraceCallConfig"
    for name, member in value.items():
        match name.lower():
            case "stateoverrides" if member is not None:
                if type(member) is not dict:
                    raise mismatch(kind(member), "override.StateOverride", field(struct, "StateOverrides"))
                options.state_overrides = _decoded(
                    decode_state_overrides, member, ("OverrideAccount", "State")
                )
            case "blockoverrides" if member is not None:
                if type(member) is not dict:
                    raise mismatch(kind(member), "override.BlockOverrides", field(struct, "BlockOverrides"))
                options.block_overrides = _decoded(
                    decode_block_overrides, member, ("BlockOverrides", "Block")
                )
            case "txindex" if member is not None:
                options.transactions = decode_quantity(member, 64, "hexutil.Uint", field(struct, "TxIndex"))
            case lower:
                _set(options, lower, member, struct, "TraceConfig.")
    return options


def _decoded(decode: Callable[[Any], _Overrides], value: Any, place: tuple[str, str]) -> _Overrides:
    """Return decoded overrides; errors name a place inside the options, as Go's decoder does."""
    try:
        return decode(value)
    except ValueError as error:
        struct, kind_of = place
        raise ValueError(str(error).replace(f"{struct}.", f"{struct}.{kind_of}Overrides.", 1)) from None


_FLAGS_BY_LOWER_CASE: Final = {flag.lower(): flag for flag in FLAGS}


def _set(options: TraceOptions, name: str, value: Any, struct: str, path: str) -> None:
    if value is None:
        return
    if (flag := _FLAGS_BY_LOWER_CASE.get(name)) is not None:
        place = field(struct, f"{path}Config.{flag[0].upper()}{flag[1:]}")
        options.flags[flag] = _typed(value, bool, "bool", place)
    elif name == "limit":
        if type(value) is float:
            raise mismatch(f"number {value:g}", "int", field(struct, f"{path}Config.Limit"))
        options.limit = _whole(value, field(struct, f"{path}Config.Limit"))
    elif name == "tracer":
        options.tracer = _typed(value, str, "string", field(struct, f"{path}Tracer"))
    elif name == "timeout":
        options.timeout = _typed(value, str, "string", field(struct, f"{path}Timeout"))
    elif name == "tracerconfig":
        options.tracer_config = value


def _whole(value: Any, place: str) -> int:
    number: int = _typed(value, int, "int", place)
    if not -(1 << 63) <= number < 1 << 63:
        raise mismatch(
            f"number {number:.20g}" if abs(number) >= 1 << 128 else f"number {number}", "int", place
        )
    return number


def _typed(value: Any, wanted: type, type_name: str, place: str) -> Any:
    if type(value) is not wanted:
        raise mismatch(kind(value), type_name, place)
    return value


def is_script(tracer: str | None) -> bool:
    """Return True if geth would take a tracer's name for JavaScript, to be run for each transaction."""
    return tracer is not None and tracer not in {*SETTINGS, *NOT_SUPPORTED, MUX}


def unknown_tracer(name: str) -> RpcError:
    """Return the error for an unknown tracer; geth takes any name but its own for JavaScript."""
    supported = {"reason": "unsupported_tracer", "supported": [*SETTINGS, MUX]}
    if name in NOT_SUPPORTED:
        return server_error(f"tracer {name} is not supported", supported)
    script = None if len(name) > MAX_NAME else _IDENTIFIER.fullmatch(name)
    if script is None or _RESERVED.fullmatch(script[1]):
        return server_error("tracers in JavaScript are not supported", supported)
    return server_error(f"ReferenceError: {script[1]} is not defined at <eval>:1:2(0)")


register_type(TraceOptions, decode_trace_options, TRACE_OPTIONS)
register_type(CallTraceOptions, decode_call_trace_options, CALL_TRACE_OPTIONS)
