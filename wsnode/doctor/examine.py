"""Check of the chains of a data folder, one after another."""

from pathlib import Path

from wsnode.doctor.chain import examine as ethereum
from wsnode.doctor.faults import FaultCollector
from wsnode.doctor.starknet import examine as starknet
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.errors import NoChainError
from wsnode.ethereum.storage.folder import FOLDER as ETHEREUM
from wsnode.ethereum.storage.tables import TABLES as ETHEREUM_TABLES
from wsnode.starknet.chain import FOLDER as STARKNET
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.storage.tables import TABLES as STARKNET_TABLES
from wsnode.store.table import Progress, check_rows


def examine(data: Path, progress: Progress) -> dict[str, FaultCollector]:
    """Return the findings of each family with a chain in the folder, without writing anything.

    Raises:
        ChainError, EngineError, StarknetError, StoreError: There is no chain, or a store cannot be opened.
    """
    found: dict[str, FaultCollector] = {}
    if (data / ETHEREUM).exists():
        with Chain.open(data / ETHEREUM, writer=False, is_examined=True) as chain:
            found[ETHEREUM] = FaultCollector(progress)
            check_rows(chain.store, ETHEREUM_TABLES, progress, found[ETHEREUM].fault)
            ethereum.examine(chain, found[ETHEREUM])
    if (data / STARKNET).exists():
        with StarknetChain.open(data, writer=False) as other:
            found[STARKNET] = FaultCollector(progress)
            check_rows(other.store, STARKNET_TABLES, progress, found[STARKNET].fault)
            with found[STARKNET].up_to_damage("blocks and classes"):
                starknet.examine(other, found[STARKNET])
    if not found:
        raise NoChainError(data)
    return found
