"""What happens to clients and nodes of both families in random scripts."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
import trio
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked


class Return(msgspec.Struct, frozen=True):
    """Take blocks off and put them back."""

    depth: int
    noticed: bool


class Leave(msgspec.Struct, frozen=True):
    """Break off; what the client has got last it has not taken note of."""

    who: int
    unread: int


class Resume(msgspec.Struct, frozen=True):
    who: int


class Notice(msgspec.Struct, frozen=True):
    """The hub looks at the store."""


class Breathe(msgspec.Struct, frozen=True):
    """The node's tasks run for a few turns: replays are cut through in their middle."""

    turns: int


class Settle(msgspec.Struct, frozen=True):
    """Everything that was sent arrives."""


who = st.integers(0, 3)
common_steps = st.one_of(
    st.builds(Return, st.integers(1, 3), st.booleans()),
    st.builds(Leave, who, st.integers(0, 6)),
    st.builds(Resume, who),
    st.builds(Notice),
    st.builds(Breathe, st.integers(1, 20)),
    st.builds(Settle),
)


class Growing(Protocol):
    """A chain that can be taken back."""

    blocks: list[Any]

    def shrink(self, depth: int) -> list[Any]:
        """Take blocks off; return what `return_to` puts back."""
        ...

    def return_to(self, branch: Any) -> None:
        """Put blocks back."""
        ...


class Looking(Protocol):
    """A hub."""

    def advance(self) -> object:
        """Look at the store."""
        ...


class Watching(Protocol):
    """A client that comes and goes."""

    async def come(self) -> None:
        """Subscribe, or resume."""
        ...

    async def go(self, unread: int) -> None:
        """Break off."""
        ...


async def take_common_step(growing: Growing, hub: Looking, watchers: Sequence[Watching], step: Any) -> None:
    """Do one of `common_steps`."""
    match step:
        case Return(depth, noticed):
            dropped = growing.shrink(min(depth, len(growing.blocks)))
            if noticed:
                hub.advance()
            growing.return_to(dropped)
        case Leave(number, unread) if number < len(watchers):
            await watchers[number].go(unread)
        case Resume(number) if number < len(watchers):
            await watchers[number].come()
        case Notice():
            hub.advance()
        case Breathe(turns):
            for _ in range(turns):
                await trio.lowlevel.checkpoint()
        case Settle():
            await wait_all_tasks_blocked()
