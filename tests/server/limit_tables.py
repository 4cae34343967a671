"""Tables of limits in docs/reference/limits.md, from their declarations."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from tests.docs.generated.marks import TableWriter, markdown_table
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.jsonrpc.session_limits import SessionBounds
from wsnode.server.limits import Limits

STRUCTS: tuple[type[msgspec.Struct], ...] = (SessionBounds, Limits, CallLimits, PoolLimits)
_DESCRIPTION = re.compile(r"(.+?): (.+)\. Beyond it: (.+?)\.?")
_SIZES = {1024 * 1024: "MiB", 1024: "KiB"}


class LimitRow(NamedTuple):
    """A limit, as its declaration and the docstring below it describe it."""

    name: str
    default: float
    unit: str
    bound: str
    beyond: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row of a table in Markdown."""
        return f"`{self.name}`", self._default, self.unit, self.bound, self.beyond

    @property
    def _default(self) -> str:
        if self.unit == "bytes":
            for size, unit in _SIZES.items():
                if self.default % size == 0 and self.default < 1024 * size:
                    return f"{self.default // size:,} {unit}"
        return f"{self.default:,}".removesuffix(".0")


def limit_rows() -> dict[str, LimitRow]:
    """Return the rows of all limits, by name."""
    return {row.name: row for struct in STRUCTS for row in rows_of(struct)}


def rows_of(struct: type[msgspec.Struct]) -> Iterator[LimitRow]:
    """Yield the rows of the limits that a struct declares itself.

    Raises:
        ValueError: A docstring does not say a limit's unit, what it bounds, and what happens beyond it.
    """
    (declaration,) = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    assert isinstance(declaration, ast.ClassDef)
    names = dict(zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True))
    defaults = msgspec.structs.asdict(struct())
    for field, below in zip(declaration.body, declaration.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            name = field.target.id
            yield LimitRow(names[name], defaults[name], *_description(names[name], below))


def _description(name: str, below: ast.stmt) -> tuple[str, str, str]:
    match below:
        case ast.Expr(ast.Constant(str(text))):
            first = " ".join(textwrap.dedent(text).partition("\n\n")[0].split())
            if found := _DESCRIPTION.fullmatch(first):
                unit, bound, beyond = found.groups()
                return unit[0].lower() + unit[1:] if unit != "JSON values" else unit, bound, beyond
    raise ValueError(f'{name}: want a docstring "UNIT: BOUND. Beyond it: ERROR."')


def table(names: str) -> str:
    """Return the table of the limits of these names, which white space separates."""
    rows = limit_rows()
    head = ("limit", "default", "unit", "bound on", "beyond it")
    return markdown_table(head, (rows[name].cells for name in names.split()))


WRITER: Final = TableWriter("limits", ["reference/limits.md"], table)
