"""The reference node, and a chain of ours that has its blocks."""

from functools import partial
from pathlib import Path
from typing import Any

import trio

from tests.starknet.block_changes import Json
from tests.starknet.conftest import Call, caller_of
from tests.starknet.reference.node import CHAIN_ID, ReferenceNode
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.snapshot import SPEC_VERSIONS
from wsnode.sync.starknet_folder import import_folder


class Pair:
    """Both, to be asked the same."""

    def __init__(self, reference: ReferenceNode, chain: StarknetChain, folder: Path) -> None:
        self.reference = reference
        self.chain = chain
        self._folder = folder
        self.calls: dict[str, Call] = {version: caller_of(chain, version) for version in SPEC_VERSIONS}
        """Ways to ask the chain, by the version of the specification."""
        self.bring()

    def bring(self) -> None:
        """Have the chain hold the reference's blocks, and none that have left that one's chain."""
        self.reference.dump(self._folder / "blocks.jsonl")
        with self.chain.snapshot() as view:
            is_empty = view.head is None
        trio.run(partial(import_folder, self.chain, self._folder, chain_id=CHAIN_ID, replace=not is_empty))

    def ask(self, filter_object: Json) -> Any:
        """Return the chain's page of events."""
        return self.calls["v0_10"]("starknet_getEvents", [filter_object])

    def events(self, **members: Any) -> list[Json]:
        """Return all events of the reference, in one page."""
        answer = self.reference.ask("starknet_getEvents", [{"chunk_size": 1024, **members}])
        assert "continuation_token" not in answer
        events: list[Json] = answer["events"]
        return events
