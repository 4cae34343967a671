"""Executes a chain by the Python execution specification: GENESIS CHAIN CALLS; prints one JSON object.

CALLS is a list of {code, input, gas}: contracts to be called on the head's state, with its block's values,
at no gas price. Printed are `transactions` (by hash), `calls`, both as {gasUsed, failed, output, steps}, and
`accounts` after the last block. A step is [pc, opcode, gas, cost, depth, stack]; its cost is null where it
fails. The specification raises where a header, a root or a receipt is not as it must be.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

# It runs in an environment of its own: its pins would hold back ours.
from ethereum.fork_criteria import ByBlockNumber  # type: ignore[import-not-found]
from ethereum.genesis import (  # type: ignore[import-not-found]
    GenesisConfiguration,
    GenesisFork,
    add_genesis_block,
)
from ethereum.trace import (  # type: ignore[import-not-found]
    EvmStop,
    GasAndRefund,
    OpEnd,
    OpException,
    OpStart,
    PrecompileStart,
    TransactionEnd,
    set_evm_trace,
)
from ethereum_rlp import rlp  # type: ignore[import-not-found]
from ethereum_types.bytes import Bytes, Bytes8  # type: ignore[import-not-found]
from ethereum_types.numeric import U64, U256, Uint  # type: ignore[import-not-found]

FORKS = {
    "homesteadBlock": "homestead",
    "eip150Block": "tangerine_whistle",
    "eip158Block": "spurious_dragon",
    "byzantiumBlock": "byzantium",
    # The specification has no Constantinople without what Petersburg took back.
    "constantinopleBlock": "constantinople",
    "istanbulBlock": "istanbul",
    "muirGlacierBlock": "muir_glacier",
    "berlinBlock": "berlin",
    "londonBlock": "london",
    "arrowGlacierBlock": "arrow_glacier",
    "grayGlacierBlock": "gray_glacier",
    "mergeNetsplitBlock": "paris",
    "shanghaiTime": "shanghai",
    "cancunTime": "cancun",
    "pragueTime": "prague",
    "osakaTime": "osaka",
    "bpo1Time": "bpo1",
    "bpo2Time": "bpo2",
}
HEADER_NUMBER, HEADER_TIME = 8, 11
CALLER = "c0" * 20
CONTRACT = "13" * 20
NOT_AN_OPCODE = "InvalidOpcode"


class Tracer:
    """Collects the steps of each transaction or call."""

    def __init__(self) -> None:
        self.ended = list[dict[str, Any]]()
        self._steps = list[list[Any]]()
        self._now: list[Any] | None = None

    def __call__(self, evm: Any, event: Any) -> None:
        environment = evm.message.tx_env
        if environment.index_in_block is None:
            return
        runs_off_the_end = isinstance(event, EvmStop) and evm.running and evm.code
        if isinstance(event, OpStart) or runs_off_the_end:
            self._begin(evm, event.op.value)
        elif isinstance(event, GasAndRefund) and self._now is not None:
            self._now[3] += event.gas_cost
        elif isinstance(event, OpException):
            self._fail(evm, event.error)
        elif isinstance(event, TransactionEnd):
            self._end(environment, event)
        if isinstance(event, (OpEnd, EvmStop, PrecompileStart)):
            # What is charged from here on is not for this step: a precompile, a contract's deposit.
            self._now = None

    def _begin(self, evm: Any, opcode: int) -> None:
        stack = [hex(word) for word in evm.stack]
        self._now = [int(evm.pc), opcode, int(evm.gas_left), 0, int(evm.message.depth) + 1, stack]
        self._steps.append(self._now)

    def _fail(self, evm: Any, error: Exception) -> None:
        if type(error).__name__ == NOT_AN_OPCODE:
            self._begin(evm, evm.code[evm.pc])
        if self._now is not None and type(error).__name__ != "Revert":
            self._now[3] = None
        self._now = None

    def _end(self, environment: Any, event: Any) -> None:
        self.ended.append(
            {
                "hash": "0x" + bytes(environment.tx_hash or b"").hex(),
                "failed": event.error is not None,
                "output": "0x" + bytes(event.output).hex(),
                "steps": self._steps,
            }
        )
        self._steps, self._now = [], None


class Execution:
    """A chain that changes its rules as the genesis says."""

    def __init__(self, genesis: dict[str, Any]) -> None:
        self._config = genesis["config"]
        self.fork = "homestead"
        self.chain = self._module("fork").BlockChain([], self._module("state").State(), U64(0))
        add_genesis_block(self._genesis_fork(), self.chain, genesis_configuration(genesis))

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"ethereum.forks.{self.fork}.{name}")

    def _genesis_fork(self) -> Any:
        blocks, types, state = (self._module(name) for name in ("blocks", "fork_types", "state"))
        trie = self._module("trie")
        return GenesisFork(
            Address=types.Address,
            Account=lambda nonce, balance, code: types.Account(nonce, balance, code),
            Trie=trie.Trie,
            Bloom=types.Bloom,
            Header=blocks.Header,
            Block=blocks.Block,
            hex_to_address=self._module("utils.hexadecimal").hex_to_address,
            set_account=state.set_account,
            set_storage=state.set_storage,
            state_root=state.state_root,
            root=trie.root,
        )

    def append(self, encoded: Any) -> list[int]:
        """Execute a block and return the gas used up to each of its transactions."""
        header = encoded[0]
        number, time = (int.from_bytes(header[place]) for place in (HEADER_NUMBER, HEADER_TIME))
        self._change_rules(number, time)
        fork = self._module("fork")
        # The chain's proof of work is none.
        fork.validate_proof_of_work = lambda header: None
        block = rlp.deserialize_to(self._module("blocks").Block, encoded)
        made = list[int]()
        original = fork.make_receipt

        def make_receipt(*arguments: Any) -> Any:
            made.append(int(arguments[-2]))
            return original(*arguments)

        fork.make_receipt = make_receipt
        try:
            fork.state_transition(self.chain, block)
        finally:
            fork.make_receipt = original
        return made

    def _change_rules(self, number: int, time: int) -> None:
        begun = [
            fork
            for name, fork in FORKS.items()
            if self._config.get(name) is not None
            and self._config[name] <= (time if name.endswith("Time") else number)
        ]
        if begun[-1] == self.fork:
            return
        self.fork = begun[-1]
        fork = self._module("fork")
        if self.fork == "london":
            fork.FORK_CRITERIA = ByBlockNumber(number)
        self.chain = fork.apply_fork(self.chain)
        self.chain.state = self._copied_state()

    def _copied_state(self) -> Any:
        """Return the state in the types of the fork, which takes no other fork's accounts for accounts."""
        state, account_type = self._module("state"), self._module("fork_types").Account
        copy, old = state.State(), self.chain.state
        for address, account in old._main_trie._data.items():
            state.set_account(copy, address, account_type(account.nonce, account.balance, account.code))
        for address, trie in old._storage_tries.items():
            for slot, value in trie._data.items():
                state.set_storage(copy, address, slot, value)
        return copy

    def call(self, code: bytes, data: bytes, gas: int) -> int:
        """Call a contract on a copy of the state, and return the gas it used as a transaction."""
        vm, types = self._module("vm"), self._module("fork_types")
        transactions, message = self._module("transactions"), self._module("utils.message")
        contract = types.Address(bytes.fromhex(CONTRACT))
        environment = self._environment(vm)
        self._module("state").set_code(environment.state, contract, Bytes(code))
        transaction = transactions.LegacyTransaction(
            U256(0), Uint(0), Uint(gas), contract, U256(0), Bytes(data), U256(0), U256(0), U256(0)
        )
        intrinsic, floor = transactions.calculate_intrinsic_cost(transaction)
        caller = types.Address(bytes.fromhex(CALLER))
        called = vm.TransactionEnvironment(
            origin=caller,
            gas_price=Uint(0),
            gas=Uint(gas) - intrinsic,
            access_list_addresses={environment.coinbase},
            access_list_storage_keys=set(),
            transient_storage=self._module("state").TransientStorage(),
            blob_versioned_hashes=(),
            authorizations=(),
            index_in_block=Uint(0),
            tx_hash=None,
        )
        prepared = message.prepare_message(environment, called, transaction)
        result = self._module("vm.interpreter").process_message_call(prepared)
        used = Uint(gas) - result.gas_left
        return int(max(used - min(used // Uint(5), Uint(result.refund_counter)), floor))

    def _environment(self, vm: Any) -> Any:
        """Return the block of the head, with a state of its own."""
        header = self.chain.blocks[-1].header
        return vm.BlockEnvironment(
            chain_id=self.chain.chain_id,
            state=self._copied_state(),
            block_gas_limit=header.gas_limit,
            # The head's own hash is not one that its transactions see.
            block_hashes=self._module("fork").get_last_256_block_hashes(self.chain)[:-1],
            coinbase=header.coinbase,
            number=header.number,
            # As calls at no gas price have it.
            base_fee_per_gas=Uint(0),
            time=header.timestamp,
            prev_randao=header.prev_randao,
            excess_blob_gas=header.excess_blob_gas,
            parent_beacon_block_root=header.parent_beacon_block_root,
        )

    def accounts(self) -> dict[str, Any]:
        """Return what the state holds."""
        state, storage = self.chain.state, self.chain.state._storage_tries
        return {
            "0x" + bytes(address).hex(): {
                "nonce": hex(account.nonce),
                "balance": hex(account.balance),
                "code": "0x" + bytes(account.code).hex(),
                "storage": {
                    "0x" + bytes(slot).hex(): hex(value)
                    for slot, value in (storage[address]._data.items() if address in storage else ())
                },
            }
            for address, account in state._main_trie._data.items()
        }


def genesis_configuration(genesis: dict[str, Any]) -> Any:
    """Return geth's genesis as the specification's, whose numbers are decimal in some places."""
    accounts = {
        address: {
            "nonce": str(int(account.get("nonce", "0x0"), 16)),
            "balance": account.get("balance", "0x0"),
            "code": account.get("code", "0x"),
            "storage": account.get("storage", {}),
        }
        for address, account in genesis["alloc"].items()
    }
    return GenesisConfiguration(
        chain_id=U64(genesis["config"]["chainId"]),
        difficulty=Uint(int(genesis["difficulty"], 16)),
        extra_data=Bytes(bytes.fromhex(genesis["extraData"][2:])),
        gas_limit=Uint(int(genesis["gasLimit"], 16)),
        nonce=Bytes8(int(genesis["nonce"], 16).to_bytes(8)),
        timestamp=U256(int(genesis["timestamp"], 16)),
        initial_accounts=accounts,
    )


def split(content: bytes) -> list[Any]:
    """Return the blocks that lie side by side."""
    blocks = []
    while content:
        width = max(content[0] - 0xF7, 0)
        size = 1 + width + (int.from_bytes(content[1 : 1 + width]) if width else content[0] - 0xC0)
        blocks.append(rlp.decode(content[:size]))
        content = content[size:]
    return blocks


def main(genesis: str, chain: str, calls: str) -> dict[str, Any]:
    """Return what is printed."""
    execution, tracer = Execution(json.loads(Path(genesis).read_text())), Tracer()
    set_evm_trace(tracer)
    transactions = {}
    for block in split(Path(chain).read_bytes()):
        totals = [0, *execution.append(block)]
        for place, ended in enumerate(tracer.ended):
            transactions[ended.pop("hash")] = ended | {"gasUsed": totals[place + 1] - totals[place]}
        tracer.ended.clear()
    called = [
        {"gasUsed": execution.call(bytes.fromhex(each["code"]), bytes.fromhex(each["input"]), each["gas"])}
        for each in json.loads(Path(calls).read_text())
    ]
    results = [ended | used for ended, used in zip(tracer.ended, called, strict=True)]
    return {"transactions": transactions, "calls": results, "accounts": execution.accounts()}


if __name__ == "__main__":
    sys.setrecursionlimit(1 << 16)
    print(json.dumps(main(*sys.argv[1:])))
