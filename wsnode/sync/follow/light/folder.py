"""A light folder as its follower has it: where it begins, what verifies its blocks, and its window."""

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.tree.live import LiveTree
from wsnode.sync.follow.light.beginning import Beginning
from wsnode.sync.follow.light.receipts import Receipts
from wsnode.sync.follow.light.window import Window
from wsnode.sync.follow.outage import Outage
from wsnode.sync.follow.upstream import Upstreams


class LightFolder:
    """What a folder that keeps a window of blocks needs besides a full one."""

    def __init__(
        self,
        chain: Chain,
        live: LiveTree,
        upstreams: Upstreams,
        outage: Outage,
        checkpoint: Hash32 | None = None,
    ) -> None:
        self.receipts = Receipts(chain, upstreams)
        self.beginning = Beginning(chain, live, upstreams, self.receipts, checkpoint)
        self.window = Window(chain, live, upstreams, self.receipts, outage)

    @property
    def trust(self) -> str:
        """Return in words what its blocks rest on."""
        checkpoint = self.beginning.checkpoint
        begun = "" if checkpoint is None else f", begun at checkpoint {hexadecimal(checkpoint)}"
        return f"bodies, receipts and logs are verified by headers, nothing is executed{begun}"
