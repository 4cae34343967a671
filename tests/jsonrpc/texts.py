"""Texts that clients might send, most of them nearly a request."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

TOKENS = [
    *("{", "}", "[", "]", ":", ",", '"', " ", "\n", "\t", "\\", "é", "\x7f", "\x00"),
    *('"jsonrpc"', '"2.0"', '"id"', '"method"', '"params"', '"steady"', '"other"', '"\\u0069d"', '"more"'),
    *(
        "[]",
        "{}",
        "[ ]",
        "null",
        "true",
        "0",
        "7",
        "01",
        "-1",
        "1.5",
        "1e3",
        '"a b"',
        '"\\n"',
        '""',
        "99999999999999999999",
    ),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3),
    max_leaves=8,
)


def requests(methods: Sequence[str]) -> st.SearchStrategy[bytes]:
    """Return texts of requests for these methods, usual ones, unusual ones, and others that are none."""
    members: dict[str, st.SearchStrategy[Any]] = {
        "jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0"]),
        "id": st.one_of(
            st.integers(), st.text(max_size=4), st.none(), st.floats(allow_nan=False), st.just([])
        ),
        "method": st.sampled_from(methods),
        "params": st.sampled_from([[], [], {}, None, [1]]) | VALUES,
        "more": st.integers(),
    }
    chosen = st.lists(st.sampled_from(list(members)), unique=True, min_size=2)
    objects = chosen.flatmap(lambda names: st.fixed_dictionaries({name: members[name] for name in names}))
    styles = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")])
    whole = st.tuples(objects, styles).map(lambda each: json.dumps(each[0], separators=each[1]).encode())
    tokens = st.lists(st.sampled_from(TOKENS), max_size=20).map(lambda parts: "".join(parts).encode())
    members_of_tokens = st.lists(
        st.tuples(st.sampled_from(TOKENS[14:23]), st.sampled_from(TOKENS[14:])).map(":".join), max_size=5
    ).map(lambda parts: ("{" + ",".join(parts) + "}").encode())
    return whole | tokens | members_of_tokens | st.binary(max_size=40)
