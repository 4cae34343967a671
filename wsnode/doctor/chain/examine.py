"""Check of an EVM chain's folder, in one snapshot of its store."""

from wsnode.doctor.chain.access_lists import AccessListCheck
from wsnode.doctor.chain.contents import ContentCheck
from wsnode.doctor.chain.ends import ChainEnds, check_beginning, find_ends
from wsnode.doctor.chain.log_index import LogIndexCheck
from wsnode.doctor.chain.lookups import LookupCheck
from wsnode.doctor.chain.rows import stored_blocks
from wsnode.doctor.chain.side_blocks import check_side_blocks
from wsnode.doctor.chain.state import check_state
from wsnode.doctor.faults import FaultCollector
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage import meta
from wsnode.ethereum.storage.folder import IMPORT


def examine(chain: Chain, findings: FaultCollector) -> None:
    """Check all tables in a chain's folder.

    Raises:
        EngineError, StoreError: The store cannot be read at all.
    """
    with findings.up_to_damage("blocks and state"):
        with chain.store.read() as reader:
            if meta.marked_head(reader, meta.HEAD) is None:
                findings.fault("meta", "there is no head, so nothing else can be checked")
                return
        with chain.snapshot() as view:
            ends = find_ends(view.reader, view.earliest, findings)
            check_beginning(view, ends.first, findings)
            _check_contents(view, ends, findings, impersonates=chain.folder.maker() != IMPORT)
        with findings.up_to_damage("the state"):
            check_state(chain, ends.first, ends.last, findings)


def _check_contents(view: Snapshot, ends: ChainEnds, findings: FaultCollector, *, impersonates: bool) -> None:
    with findings.up_to_damage("blocks"):
        _check_blocks(view, ends.first, ends.last, findings, impersonates=impersonates)
    with findings.up_to_damage("side blocks"):
        check_side_blocks(view, findings, impersonates=impersonates)


def _check_blocks(
    view: Snapshot, first: int, last: int, findings: FaultCollector, *, impersonates: bool
) -> None:
    contents = ContentCheck(view.spec, findings, impersonates=impersonates)
    lookups = LookupCheck(view.reader, findings, first, last)
    log_index = LogIndexCheck(view.reader, findings)
    access_lists = AccessListCheck(view.reader, findings, is_light=view.is_light)
    for batch in stored_blocks(view.reader, first, last):
        contents.check(batch)
        for block in batch:
            log_index.add(block, lookups.check(block))
            access_lists.check(block)
        findings.progress.advanced("blocks", batch[-1].number + 1 - first, last + 1 - first)
    lookups.finish()
    log_index.finish()
    access_lists.finish()
