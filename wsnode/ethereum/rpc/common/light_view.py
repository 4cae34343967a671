"""A moment of a light folder that follows no node: blocks, receipts and logs are there, the state is not."""

from wsnode.ethereum.not_found import no_state
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import HeadSnapshot, State


class LightView(Snapshot):
    """A snapshot whose state cannot be read: whatever asks for it gets the error for its caller."""

    __slots__ = ()

    @property
    def state(self) -> State:
        """Raise the error.

        Raises:
            RpcError: Always.
        """
        raise no_state()

    @state.setter
    def state(self, state: State) -> None:
        """Leave it to the chain."""

    def pin(self) -> None:
        """Leave the state, of which there is none, as it is."""

    @property
    def native_view(self) -> HeadSnapshot:
        """Return the snapshot in the engine's form; the engine finds no state either, and says nothing."""
        return self._native_view_of(self._chain.state)
