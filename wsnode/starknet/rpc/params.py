"""The methods' parameters, under their names in starknet-specs and in their order by position."""

from typing import Literal

import msgspec

from wsnode.jsonrpc.codec import register_encoder, register_type
from wsnode.starknet.block_id import BlockId, decode_block_id
from wsnode.starknet.felt import Felt, decode_felt, felt_text
from wsnode.starknet.rpc.schemas import BLOCK_ID, WRITTEN_FELT

register_type(Felt, decode_felt, WRITTEN_FELT)
register_encoder(Felt, felt_text)
register_type(BlockId, decode_block_id, BLOCK_ID)


class ContractParams(msgspec.Struct, frozen=True):
    """`block_id`, `contract_address`."""

    block_id: BlockId
    contract_address: Felt


class ClassParams(msgspec.Struct, frozen=True):
    """`block_id`, `class_hash`."""

    block_id: BlockId
    class_hash: Felt


class StorageParams(msgspec.Struct, frozen=True):
    """`contract_address`, `key`, `block_id`; a flag (0.10.1) adds the block of the last write."""

    contract_address: Felt
    key: Felt
    block_id: BlockId
    response_flags: list[Literal["INCLUDE_LAST_UPDATE_BLOCK"]] = []


class StateUpdateParams(msgspec.Struct, frozen=True):
    """`block_id`; `contract_addresses` selects the changes of these (0.10.1), an empty list those of all."""

    block_id: BlockId
    contract_addresses: list[Felt] = []
