"""View of a light folder that follows no node: it has blocks, receipts and logs, and no state."""

from wsnode.ethereum.not_found import no_state
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import HeadSnapshot, State


class LightView(Snapshot):
    """Snapshot of a light folder without a source of states; each read of the state raises the JSON-RPC error
    for the caller.
    """

    __slots__ = ()

    @property
    def state(self) -> State:
        """Raise the error for state that a light folder cannot get.

        Raises:
            RpcError: Always.
        """
        raise no_state()

    @state.setter
    def state(self, state: State) -> None:
        """Ignore `state`: reads of it raise the error all the same."""

    def pin(self) -> None:
        """Do nothing: there is no state to pin."""

    @property
    def native_view(self) -> HeadSnapshot:
        """Return the snapshot in the engine's form, without a state: the engine leaves calls to handlers."""
        return self._native_view_of(self._chain.state)
