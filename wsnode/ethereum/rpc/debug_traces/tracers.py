"""The names of tracers, and the error for unknown ones."""

import re
from typing import Final

from wsnode.jsonrpc.errors import RpcError, server_error

SETTINGS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "callTracer": ("callTracerConfig", ("onlyTopCall", "withLog")),
    "flatCallTracer": ("flatCallTracerConfig", ("convertParityErrors", "includePrecompiles")),
    "prestateTracer": (
        "PrestateTracerConfig",
        ("diffMode", "disableCode", "disableStorage", "includeEmpty"),
    ),
    "4byteTracer": ("", ()),
    "noopTracer": ("", ()),
}
MUX: Final = "muxTracer"
FLAGS: Final = ("enableMemory", "disableStack", "disableStorage", "enableReturnData")
"""Options of struct logs, the form without a tracer."""
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
