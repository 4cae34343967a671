"""What web3.py's tests want to find on a chain: some contracts, and blocks of a certain kind."""

from importlib import import_module
from time import sleep
from typing import Any, Final

import msgspec

KEY: Final = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
"""Of the account that the node signs for: the first one of `wsnode dev`."""
CONTRACTS: Final = {
    "math": ("math_contract", "MATH_CONTRACT_DATA"),
    "emitter": ("emitter_contract", "EMITTER_CONTRACT_DATA"),
    "revert": ("revert_contract", "REVERT_CONTRACT_DATA"),
    "storage": ("storage_contract", "STORAGE_CONTRACT_DATA"),
    "panic_errors": ("panic_errors_contract", "PANIC_ERRORS_CONTRACT_DATA"),
    "offchain_lookup": ("offchain_lookup", "OFFCHAIN_LOOKUP_DATA"),
}
LOG_DOUBLE_WITH_INDEX: Final = 9
POLL_SECONDS: Final = 0.02


class Furniture(msgspec.Struct, frozen=True):
    """Where everything is."""

    addresses: dict[str, Any]
    math_deployment: Any
    transfer: Any
    transfer_block: Any
    log: Any
    log_block: Any
    empty_block: Any


def contract_data(name: str) -> dict[str, Any]:
    """Return the interface and the code of a contract."""
    module, constant = CONTRACTS[name]
    found: dict[str, Any] = getattr(
        import_module(f"web3._utils.contract_sources.contract_data.{module}"), constant
    )
    return found


def furnish(w3: Any) -> Furniture:
    """Put everything on the chain of `w3`, which signs by itself for its default account."""
    deployments = {name: deploy(w3, name) for name in CONTRACTS}
    addresses = {name: receipt["contractAddress"] for name, receipt in deployments.items()}
    account = w3.eth.default_account
    transfer = w3.eth.wait_for_transaction_receipt(w3.eth.send_transaction({"to": account, "value": 1}))
    emitter = w3.eth.contract(addresses["emitter"], **contract_data("emitter"))
    sent = emitter.functions.logDouble(LOG_DOUBLE_WITH_INDEX, 12345, 54321).transact()
    log = w3.eth.wait_for_transaction_receipt(sent)
    return Furniture(
        addresses,
        deployments["math"]["transactionHash"],
        transfer["transactionHash"],
        transfer["blockHash"],
        log["transactionHash"],
        log["blockHash"],
        empty_block_after(w3, log["blockNumber"]),
    )


def deploy(w3: Any, name: str) -> Any:
    """Return the receipt of a contract's creation."""
    sent = w3.eth.contract(**contract_data(name)).constructor().transact()
    return w3.eth.wait_for_transaction_receipt(sent)


def await_next_block(w3: Any) -> None:
    """Wait until there is another block, and none of the account's transactions waits for the next."""
    account, number = w3.eth.default_account, w3.eth.block_number
    counts = w3.eth.get_transaction_count
    while w3.eth.block_number == number or counts(account, "pending") != counts(account):
        sleep(POLL_SECONDS)


def empty_block_after(w3: Any, number: int) -> Any:
    """Return the hash of the first block without transactions behind block `number`, waiting for it."""
    while True:
        number += 1
        while w3.eth.block_number < number:
            sleep(POLL_SECONDS)
        block = w3.eth.get_block(number)
        if not block["transactions"]:
            return block["hash"]
