"""Parts of a light folder: its first block, the receipts of its blocks, and its window."""

from collections.abc import Callable

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.networks.table import unproved_members
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.sync.follow.light.bootstrap import LightBootstrap
from wsnode.sync.follow.light.receipts import Receipts
from wsnode.sync.follow.light.window import WindowPruner
from wsnode.sync.follow.storage_retry import StorageRetry
from wsnode.sync.follow.upstream import Upstreams


class LightFolderParts:
    """Tasks of a light folder that a full one does not need: its bootstrap, receipts and window pruner."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        storage_retry: StorageRetry,
        checkpoint: Hash32 | None = None,
        proved: Callable[[], Hash32 | None] | None = None,
    ) -> None:
        self._family = chain.spec.family
        self.receipts = Receipts(chain, upstreams)
        self.beginning = LightBootstrap(chain, live, upstreams, self.receipts, checkpoint, proved)
        self.window = WindowPruner(chain, live, upstreams, self.receipts, storage_retry)

    @property
    def trust(self) -> str:
        """Return the checks that the folder's blocks rest on, as text."""
        checkpoint = self.beginning.checkpoint
        begun = "" if checkpoint is None else f", begun at checkpoint {hexadecimal(checkpoint)}"
        left_out = unproved_members(self._family)
        missing = "" if left_out is None else f", {left_out}"
        return f"bodies, receipts and logs are verified by headers, nothing is executed{begun}{missing}"
