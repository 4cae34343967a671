"""eth_config and eth_capabilities: the fork rules in force, and the data that is stored."""

import zlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.rpc.common.schemas import ADDRESS, HASH, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec, ForkRow
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, COUNT, STRING, mapping_of, or_null, record, text

_RULES: Final = or_null(
    record(
        {
            "activationTime": COUNT,
            "blobSchedule": or_null(record(dict.fromkeys(("target", "max", "baseFeeUpdateFraction"), COUNT))),
            "chainId": QUANTITY,
            "forkId": text("0x[0-9a-f]{8}"),
            **dict.fromkeys(("precompiles", "systemContracts"), mapping_of(ADDRESS)),
        }
    )
)
_CONFIGURATION: Final = record(dict.fromkeys(("current", "next", "last"), _RULES))
_STORED: Final = record(
    {"disabled": BOOLEAN},
    {"oldestBlock": QUANTITY, "deleteStrategy": record({"type": STRING, "retentionBlocks": QUANTITY})},
)
_CAPABILITIES: Final = record(
    {
        "head": record({"number": QUANTITY, "hash": HASH}),
        **dict.fromkeys(("state", "tx", "logs", "receipts", "blocks", "stateproofs"), _STORED),
    }
)

# The names are those of EIP-7910's table; the address is the precompile's number.
_PRECOMPILES: Final = {
    "ECREC": 1,
    "SHA256": 2,
    "RIPEMD160": 3,
    "ID": 4,
    "MODEXP": 5,
    "BN254_ADD": 6,
    "BN254_MUL": 7,
    "BN254_PAIRING": 8,
    "BLAKE2F": 9,
}
_NO_STATE: Final = {"disabled": True}


class ForkSchedule:
    """Fork schedule of a genesis, rendered as eth_config's result (EIP-7910)."""

    def __init__(self, genesis: bytes, spec: ChainSpec) -> None:
        content: dict[str, Any] = msgspec.json.decode(genesis)
        self._config: dict[str, Any] = content["config"]
        self._genesis_time = int(str(content.get("timestamp", "0x0")), 0)
        self.spec = spec

    def config(self, view: Snapshot) -> dict[str, Any]:
        """Return the rules in force at the head, the next ones, and the last ones that are scheduled."""
        header = view.header(view.number)
        assert header is not None
        now = header_fields(header).timestamp
        times = sorted({begin for fork, begin in self.spec.scheduled_forks() if fork.is_by_time})
        past, future = [time for time in times if time <= now], [time for time in times if time > now]
        return {
            "current": self._rules(past[-1]) if past else None,
            "next": self._rules(future[0]) if future else None,
            "last": self._rules(future[-1]) if future else None,
        }

    def _rules(self, time: int) -> dict[str, Any]:
        return {
            "activationTime": 0 if time <= self._genesis_time else time,
            "blobSchedule": self._blob_schedule(time),
            "chainId": hex(self.spec.chain_id),
            "forkId": f"0x{self.fork_id(time):08x}",
            "precompiles": self._precompiles(time),
            "systemContracts": self._system_contracts(time),
        }

    def fork_id(self, time: int) -> int:
        """Return the checksum of the genesis hash and the forks up to `time`, all block forks among them."""
        forks = self.spec.scheduled_forks()
        blocks = {begin for fork, begin in forks if begin and self._is_in_fork_id(fork)}
        times = {begin for fork, begin in forks if fork.is_by_time and self._genesis_time < begin <= time}
        checksum = zlib.crc32(self.spec.genesis_hash)
        for fork in sorted(blocks) + sorted(times):
            checksum = zlib.crc32(fork.to_bytes(8, "big"), checksum)
        return checksum

    def _blob_schedule(self, time: int) -> dict[str, int] | None:
        parameters = self.spec.blob_parameters(time)
        names = ("target", "max", "baseFeeUpdateFraction")
        return None if parameters is None else dict(zip(names, parameters, strict=True))

    def _precompiles(self, time: int) -> dict[str, str]:
        numbers = dict(_PRECOMPILES)
        for fork in self._active(time):
            numbers |= dict(fork.precompiles)
        return {name: f"0x{number:040x}" for name, number in sorted(numbers.items())}

    def _system_contracts(self, time: int) -> dict[str, str]:
        contracts: dict[str, str] = {}
        for fork in self._active(time):
            contracts |= dict(fork.contracts)
            if fork.key == "pragueTime":
                deposit = str(self._config.get("depositContractAddress", f"0x{0:040x}"))
                contracts["DEPOSIT_CONTRACT_ADDRESS"] = deposit.lower()
        return dict(sorted(contracts.items()))

    def _active(self, time: int) -> list[ForkRow]:
        """Return the forks that a time has activated by `time`, oldest first."""
        return [fork for fork, begin in self.spec.scheduled_forks() if fork.is_by_time and begin <= time]

    def _is_in_fork_id(self, fork: ForkRow) -> bool:
        """Return True if a fork by block number counts for the fork id (EIP-2124).

        Petersburg is active with Constantinople unless the genesis names it.
        """
        return not fork.is_by_time and fork.key in self._config


def capabilities(view: Snapshot) -> dict[str, Any]:
    """Return the head, and for each kind of data the first block that has it, and how many are kept.

    Only folders with a window delete anything; light ones have no state.
    """
    stored: dict[str, Any] = {"disabled": False, "oldestBlock": hex(view.earliest)}
    if view.window is not None:
        stored["deleteStrategy"] = {"type": "window", "retentionBlocks": hex(view.retained)}
    state = _NO_STATE if view.is_light else stored
    return {
        "head": view.head.members(),
        "state": state,
        **dict.fromkeys(("tx", "logs", "receipts", "blocks"), stored),
        "stateproofs": state,
    }


def configuration_of(read_genesis: Callable[[], bytes]) -> Callable[[Snapshot], dict[str, Any]]:
    """Return the handler of eth_config."""
    known: ForkSchedule | None = None

    def config(view: Snapshot) -> dict[str, Any]:
        """Return the fork rules: `current` at the head, `next` and `last`, null unless scheduled
        (EIP-7910).
        """
        nonlocal known
        if known is None or known.spec is not view.spec:
            known = ForkSchedule(read_genesis(), view.spec)
        return known.config(view)

    return config


def add_methods(registry: Registry, read_genesis: Callable[[], bytes]) -> None:
    """Register this module's methods; `read_genesis` returns the text of the chain's genesis."""
    registry.method("eth_config", result=_CONFIGURATION)(configuration_of(read_genesis))
    registry.method("eth_capabilities", result=_CAPABILITIES)(capabilities)
