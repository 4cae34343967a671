"""Tuple of the error types of an input, a folder or an address, which an operator can correct."""

from wsnode.ethereum.state import EngineError
from wsnode.ethereum.storage.errors import ChainError
from wsnode.node.config import ConfigurationError
from wsnode.node.listen_address import ListenError
from wsnode.server.access.keys import KeyFileError
from wsnode.snapshots.errors import CopyError
from wsnode.starknet.errors import StarknetError
from wsnode.store.errors import StoreError
from wsnode.sync.errors import CheckpointError, SourceError, UnknownParentError, UnsupportedChainError
from wsnode.untrusted.decoding import MalformedError
from wsnode.verify.cases import CaseFileError
from wsnode.verify.differential import NodeMismatchError

FAILURES = (
    ListenError,
    CaseFileError,
    ChainError,
    CheckpointError,
    ConfigurationError,
    CopyError,
    EngineError,
    KeyFileError,
    MalformedError,
    OSError,
    NodeMismatchError,
    SourceError,
    StarknetError,
    StoreError,
    UnknownParentError,
    UnsupportedChainError,
)
