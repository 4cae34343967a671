"""All of an EVM chain's folder, in one snapshot of its chain store."""

from wsnode.doctor.chain.contents import Contents
from wsnode.doctor.chain.ends import check_beginning, find_ends
from wsnode.doctor.chain.log_index import LogIndex
from wsnode.doctor.chain.lookups import Lookups
from wsnode.doctor.chain.rows import stored_blocks
from wsnode.doctor.chain.side_blocks import check_side_blocks
from wsnode.doctor.chain.state import check_state
from wsnode.doctor.findings import Findings
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.storage import meta
from wsnode.ethereum.storage.folder import IMPORT


def examine(chain: Chain, findings: Findings) -> None:
    """Check everything in a chain's folder.

    Raises:
        EngineError, StoreError: A store cannot be read at all.
    """
    with chain.store.read() as reader:
        if meta.marked_head(reader, meta.HEAD) is None:
            findings.fault("meta", "there is no head, so nothing else can be checked")
            return
    impersonates = chain.folder.maker() != IMPORT
    with chain.snapshot() as view:
        ends = find_ends(view.reader, view.earliest, findings)
        check_beginning(view, ends.first, findings)
        _check_blocks(view, ends.first, ends.last, findings, impersonates=impersonates)
        check_side_blocks(view, findings, impersonates=impersonates)
    check_state(chain, ends.first, ends.last, findings)


def _check_blocks(view: Snapshot, first: int, last: int, findings: Findings, *, impersonates: bool) -> None:
    contents = Contents(view.spec, findings, impersonates=impersonates)
    lookups = Lookups(view.reader, findings, first, last)
    log_index = LogIndex(view.reader, findings)
    for batch in stored_blocks(view.reader, first, last):
        contents.check(batch)
        for block in batch:
            log_index.add(block, lookups.check(block))
        findings.progress.advanced("blocks", batch[-1].number + 1 - first, last + 1 - first)
    lookups.finish()
    log_index.finish()
