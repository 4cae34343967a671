"""The text whose Keccak is the hinted hash of a Cairo 0 class.

The definition is cairo-lang's: Python's `json.dumps` of the program and the ABI, with sorted keys, default
separators and ASCII escapes. Differences of older compilers are undone as in cairo-lang.
"""

import json
from typing import Any


def hinted_text(program: dict[str, Any], abi: Any) -> bytes:
    """Return the canonical text of `program`, which is changed on the way, and `abi`."""
    program["debug_info"] = None
    _trim_attributes(program)
    # cairo-lang sorts them as numbers, so 10 comes after 9.
    program["hints"] = {int(offset): hints for offset, hints in program["hints"].items()}
    if program.get("compiler_version", ...) is None:
        del program["compiler_version"]
    if "compiler_version" not in program:
        for member in ("identifiers", "reference_manager"):
            _space_named_tuples(program.get(member))
    return json.dumps({"abi": abi, "program": program}, sort_keys=True).encode()


def _trim_attributes(program: dict[str, Any]) -> None:
    """Remove members that attributes lacked before Cairo 0.8, and an empty list of attributes."""
    for attribute in program.get("attributes") or []:
        if not attribute.get("accessible_scopes", True):
            del attribute["accessible_scopes"]
        if attribute.get("flow_tracking_data", ...) is None:
            del attribute["flow_tracking_data"]
    if not program.get("attributes"):
        program.pop("attributes", None)


def _space_named_tuples(value: Any) -> None:
    """Write `name : type` in types, as compilers did before they wrote their version."""
    if isinstance(value, list):
        for item in value:
            _space_named_tuples(item)
    elif isinstance(value, dict):
        for member, inner in value.items():
            if member in ("cairo_type", "value") and isinstance(inner, str):
                value[member] = inner.replace(": ", " : ").replace("  :", " :")
            else:
                _space_named_tuples(inner)
