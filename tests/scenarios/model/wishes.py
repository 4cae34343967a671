"""What may be written to the chain and asked for, as hypothesis draws it."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.ethereum.live.growing import EMITTERS, TOPICS
from wsnode.ethereum.live.subscription_spec import Extensions
from wsnode.ethereum.logs.filter import LogFilter

# Places of emitters and topics, so that a failing example can be read.
emitters = st.integers(0, len(EMITTERS) - 1)
topics = st.integers(0, len(TOPICS) - 1)
Branch = list[list[tuple[int, list[int]]]]
Wanted = tuple[list[int], list[list[int]]]
blocks = st.lists(st.tuples(emitters, st.lists(topics, max_size=3)), max_size=4)
branches: st.SearchStrategy[Branch] = st.lists(blocks, min_size=1, max_size=3)
histories: st.SearchStrategy[Branch] = st.lists(blocks, max_size=8)
criteria: st.SearchStrategy[Wanted] = st.tuples(
    st.lists(emitters, max_size=2), st.lists(st.lists(topics, max_size=2), max_size=3)
)
everything: Wanted = ([], [])
which = st.integers(0, 5)
forms = st.builds(Extensions, st.booleans(), st.booleans())
starts = st.one_of(st.none(), st.integers(0, 12))
ends = st.one_of(st.none(), st.none(), st.integers(0, 12))


class Wish(msgspec.Struct, frozen=True):
    """A subscription to be: kind and form, and for some kinds criteria and bounds."""

    kind: str
    criteria: Wanted
    start: int | None
    end: int | None
    form: Extensions


kinds = st.sampled_from(["logs", "logs", "newHeads", "newPendingTransactions"])
wishes = st.builds(Wish, kinds, st.one_of(st.just(everything), criteria), starts, ends, forms)


def chosen(criteria: Wanted) -> LogFilter:
    addresses, alternatives = criteria
    return LogFilter(
        [EMITTERS[place] for place in addresses], [[TOPICS[place] for place in some] for some in alternatives]
    )


def options_of(first: int | None, form: Extensions) -> dict[str, Any]:
    begin = {} if first is None else {"fromBlock": hex(first)}
    return {**begin, "cursors": form.cursors, "reorgs": form.reorgs}
