"""Views of a network's chains: of both families at once where it has both."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from wsnode.ethereum.chain import Chain as EthereumChain
from wsnode.ethereum.rpc.form.light_view import LightView
from wsnode.ethereum.snapshot import Caller
from wsnode.ethereum.snapshot import Snapshot as EthereumSnapshot
from wsnode.jsonrpc.errors import limit_exceeded
from wsnode.jsonrpc.work import View
from wsnode.store.errors import TooManySnapshotsError

if TYPE_CHECKING:
    # Few networks have an alt chain, and a node starts much sooner without its modules.
    from wsnode.starknet.chain import Chain as StarknetChain
    from wsnode.starknet.snapshot import Snapshot as StarknetSnapshot

Opening = TypeVar("Opening", bound=View)


class BothFamilies(EthereumSnapshot):
    """A moment of a network that has two chains; the second is opened when a method first reads it."""

    __slots__ = ("_starknet", "_starknet_chain")

    def __init__(self, ethereum: EthereumChain, starknet: "StarknetChain", caller: Caller) -> None:
        super().__init__(ethereum, caller)
        self._starknet_chain = starknet
        self._starknet: StarknetSnapshot | None = None

    @property
    def starknet(self) -> "StarknetSnapshot":
        """Return the alt chain's snapshot, one for the whole request or batch."""
        if self._starknet is None:
            self._starknet = self._starknet_chain.snapshot()
        return self._starknet

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._starknet is not None:
            self._starknet.__exit__(*error)


def opening(
    first: EthereumChain, second: "StarknetChain | None", *, is_proved: bool = False
) -> Callable[[Caller], EthereumSnapshot]:
    """Return what opens views of the chains that there are.

    A light folder's have no state, unless it `is_proved` by upstreams.
    """
    if first.window is not None and not is_proved:
        return refusing(partial(LightView, first))
    if second is None:
        return refusing(first.snapshot)

    def open_both(caller: Caller) -> BothFamilies:
        return BothFamilies(first, second, caller)

    return refusing(open_both)


def refusing(open_view: Callable[[Caller], Opening]) -> Callable[[Caller], Opening]:
    """Return what opens views, and refuses with -32005 while no more versions of a store can be read."""

    def open_or_refuse(caller: Caller) -> Opening:
        try:
            return open_view(caller)
        except TooManySnapshotsError as error:
            raise limit_exceeded(str(error)) from None

    return open_or_refuse


def versions_of(*chains: "EthereumChain | StarknetChain | None") -> Callable[[], int]:
    """Return what counts the versions of the chains' stores that are being read."""
    there = [chain for chain in chains if chain is not None]

    def versions() -> int:
        return max(chain.store.versions for chain in there)

    return versions
