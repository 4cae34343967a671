"""Errors of an input, a folder or an address, which an operator can correct."""

from wsnode.ethereum.state import EngineError
from wsnode.ethereum.storage.errors import ChainError
from wsnode.node.addresses import ListenError
from wsnode.node.config import ConfigurationError
from wsnode.server.access.keys import KeyFileError
from wsnode.snapshots.errors import CopyError
from wsnode.starknet.errors import StarknetError
from wsnode.store.errors import StoreError
from wsnode.sync.errors import SourceError, UnknownParentError
from wsnode.verify.against import OtherChainError
from wsnode.verify.cases import CaseFileError

FAILURES = (
    ListenError,
    CaseFileError,
    ChainError,
    ConfigurationError,
    CopyError,
    EngineError,
    KeyFileError,
    OSError,
    OtherChainError,
    SourceError,
    StarknetError,
    StoreError,
    UnknownParentError,
)
