"""Names of settings in wsnode.toml: the known ones, the nearest to an unknown one, and the line of each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*(?:=|\.)""")
_LIKENESS = 0.6

Path = tuple[str, ...]


class KnownNames(NamedTuple):
    """Names that one table may hold, and the tables in it; `*` is a table of any name."""

    names: Sequence[str]
    tables: Mapping[str, "KnownNames"] = {}


class UnknownName(NamedTuple):
    """Name in a configuration that is not known at its place."""

    path: Path
    known: Sequence[str]

    def __str__(self) -> str:
        place = ".".join(self.path)
        nearest = nearest_to(self.path[-1], self.known)
        if nearest is None:
            return f"{place}: unknown setting; there are {', '.join(sorted(self.known))}"
        return f"{place}: unknown setting; the nearest is {'.'.join((*self.path[:-1], nearest))}"


def unknown_names(content: Mapping[str, Any], known: KnownNames, path: Path = ()) -> Iterator[UnknownName]:
    """Yield the unknown names in `content`, in their order."""
    for name, value in content.items():
        if name not in known.names and "*" not in known.tables:
            yield UnknownName((*path, name), known.names)
        table = known.tables.get(name, known.tables.get("*"))
        if table is not None and isinstance(value, dict):
            yield from unknown_names(value, table, (*path, name))


def nearest_to(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that is most like `name`, None if none is like it."""
    # Only a wrong configuration needs it, and it would be loaded at each start.
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, n=1, cutoff=_LIKENESS)), None)


def line_of(text: str, path: Path) -> int | None:
    """Return the number of the line in TOML `text`, from 1 on, where `path` is set or its table begins.

    Return None if there is no such line.
    """
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = tuple(part.strip(" \"'") for part in header[1].split("."))
            if table[: len(path)] == path:
                return number
        elif (key := _KEY.match(line)) and (*table, key[1]) == path:
            return number
    return None
