"""The chains of a data folder, one after another."""

from pathlib import Path

from wsnode.doctor.alt import examine as alt
from wsnode.doctor.chain import examine as ethereum
from wsnode.doctor.findings import Findings
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.errors import NoChainError
from wsnode.ethereum.storage.folder import FOLDER as ETHEREUM
from wsnode.starknet.chain import FOLDER as ALT
from wsnode.starknet.chain import Chain as AltChain
from wsnode.store.progress import Progress


def examine(data: Path, progress: Progress) -> dict[str, Findings]:
    """Return what was found of each family that the folder has a chain of, without writing anything.

    Raises:
        ChainError, EngineError, StarknetError, StoreError: There is no chain, or a store cannot be opened.
    """
    found: dict[str, Findings] = {}
    if (data / ETHEREUM).exists():
        with Chain.open(data / ETHEREUM, writer=False) as chain:
            found[ETHEREUM] = Findings(progress)
            ethereum.examine(chain, found[ETHEREUM])
    if (data / ALT).exists():
        with AltChain.open(data, writer=False) as other:
            found[ALT] = Findings(progress)
            alt.examine(other, found[ALT])
    if not found:
        raise NoChainError(data)
    return found
