"""eth_config and eth_capabilities: the fork rules in force, and the data that is stored."""

import zlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.rpc.form.schemas import ADDRESS, HASH, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec
from wsnode.ethereum.system_contracts import CANCUN_CONTRACTS, PRAGUE_CONTRACTS
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
    {
        "disabled": BOOLEAN,
        "oldestBlock": or_null(QUANTITY),
        "deleteStrategy": or_null(record({"type": STRING, "retentionBlocks": QUANTITY})),
    }
)
_CAPABILITIES: Final = record(
    {
        "head": record({"number": QUANTITY, "hash": HASH}),
        **dict.fromkeys(("state", "tx", "logs", "receipts", "blocks", "stateproofs"), _STORED),
    }
)

BY_BLOCK: Final = (
    "homesteadBlock",
    "daoForkBlock",
    "eip150Block",
    "eip155Block",
    "eip158Block",
    "byzantiumBlock",
    "constantinopleBlock",
    "petersburgBlock",
    "istanbulBlock",
    "muirGlacierBlock",
    "berlinBlock",
    "londonBlock",
    "arrowGlacierBlock",
    "grayGlacierBlock",
    "mergeNetsplitBlock",
)
BY_TIME: Final = (
    "shanghaiTime",
    "cancunTime",
    "pragueTime",
    "osakaTime",
    "bpo1Time",
    "bpo2Time",
    "bpo3Time",
    "bpo4Time",
    "bpo5Time",
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
_CANCUN_PRECOMPILES: Final = {"KZG_POINT_EVALUATION": 10}
_PRAGUE_PRECOMPILES: Final = {
    "BLS12_G1ADD": 11,
    "BLS12_G1MSM": 12,
    "BLS12_G2ADD": 13,
    "BLS12_G2MSM": 14,
    "BLS12_PAIRING_CHECK": 15,
    "BLS12_MAP_FP_TO_G1": 16,
    "BLS12_MAP_FP2_TO_G2": 17,
}
_OSAKA_PRECOMPILES: Final = {"P256VERIFY": 256}
_NO_STATE: Final = {"disabled": True, "oldestBlock": None, "deleteStrategy": None}


class ForkConfiguration:
    """A chain's forks as its genesis names them."""

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
        times = sorted({time for name in BY_TIME if (time := self._activation(name)) is not None})
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
        blocks = {number for name in BY_BLOCK if (number := self._activation(name))}
        times = {
            number
            for name in BY_TIME
            if (number := self._activation(name)) is not None and self._genesis_time < number <= time
        }
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
        for fork, added in (
            ("cancunTime", _CANCUN_PRECOMPILES),
            ("pragueTime", _PRAGUE_PRECOMPILES),
            ("osakaTime", _OSAKA_PRECOMPILES),
        ):
            if self._active(fork, time):
                numbers |= added
        return {name: f"0x{number:040x}" for name, number in sorted(numbers.items())}

    def _system_contracts(self, time: int) -> dict[str, str]:
        contracts = dict(CANCUN_CONTRACTS) if self._active("cancunTime", time) else {}
        if self._active("pragueTime", time):
            deposit = str(self._config.get("depositContractAddress", f"0x{0:040x}"))
            contracts |= {"DEPOSIT_CONTRACT_ADDRESS": deposit.lower(), **PRAGUE_CONTRACTS}
        return dict(sorted(contracts.items()))

    def _active(self, fork: str, time: int) -> bool:
        activation = self._activation(fork)
        return activation is not None and activation <= time

    def _activation(self, fork: str) -> int | None:
        activation = self._config.get(fork)
        return None if activation is None else int(str(activation), 0)


def capabilities(view: Snapshot) -> dict[str, Any]:
    """Return the head, and for each kind of data the first block that has it, and how many are kept.

    Only folders with a window delete anything; light ones have no state.
    """
    window = view.window
    strategy = None if window is None else {"type": "window", "retentionBlocks": hex(window)}
    stored = {"disabled": False, "oldestBlock": hex(view.earliest), "deleteStrategy": strategy}
    state = _NO_STATE if view.is_light else stored
    return {
        "head": view.head.members(),
        "state": state,
        **dict.fromkeys(("tx", "logs", "receipts", "blocks"), stored),
        "stateproofs": state,
    }


def configuration_of(read_genesis: Callable[[], bytes]) -> Callable[[Snapshot], dict[str, Any]]:
    """Return the handler of eth_config."""
    known: ForkConfiguration | None = None

    def config(view: Snapshot) -> dict[str, Any]:
        """Return the fork rules: `current` at the head, `next` and `last`, null unless scheduled
        (EIP-7910).
        """
        nonlocal known
        if known is None or known.spec is not view.spec:
            known = ForkConfiguration(read_genesis(), view.spec)
        return known.config(view)

    return config


def add_methods(registry: Registry, read_genesis: Callable[[], bytes]) -> None:
    """Register this module's methods; `read_genesis` returns the text of the chain's genesis."""
    registry.method("eth_config", result=_CONFIGURATION)(configuration_of(read_genesis))
    registry.method("eth_capabilities", result=_CAPABILITIES)(capabilities)
