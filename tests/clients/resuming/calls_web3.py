"""Calls whose replies are lost: `python calls_web3.py URL SENDER TRANSACTION`."""

import asyncio
import json
import sys
from typing import Any

from web3 import AsyncWeb3, WebSocketProvider
from web3.exceptions import Web3RPCError


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


async def main(url: str, sender: str, signed: str) -> None:
    provider = WebSocketProvider(url)
    async with AsyncWeb3(provider) as w3:
        address = w3.to_checksum_address(sender)
        say(balance=str(await w3.eth.get_balance(address)))
        say(hash="0x" + (await w3.eth.send_raw_transaction(bytes.fromhex(signed[2:]))).hex())
        try:
            # All is said that web3 would ask for before.
            fees = {"gas": 21000, "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 1, "chainId": 31337}
            transaction: Any = {"from": address, "to": address, "value": 0, "nonce": 1, **fees}
            say(sent=(await w3.eth.send_transaction(transaction)).hex())
        except Web3RPCError as error:
            say(error=type(error).__name__)
        say(block=await w3.eth.block_number)


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3]))
