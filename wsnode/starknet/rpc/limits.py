"""The bounds of the Starknet family's methods, as `rpc_limits` shows them; no setting changes them."""

from typing import Final

from wsnode.starknet.events.search import MOST_BLOCKS, MOST_BYTES
from wsnode.starknet.followed.sent import MOST_SENT_BYTES, SENT_SECONDS
from wsnode.starknet.followed.state import (
    FORWARDED_SECONDS,
    MOST_FORWARDED,
    MOST_FORWARDED_BYTES,
    MOST_PROVING,
)
from wsnode.starknet.proofs.prover import MOST_VALUES, PROVED_BLOCKS
from wsnode.starknet.rpc.events import MOST_EVENTS
from wsnode.starknet.rpc.forwarded.params import MOST_FORWARDED_FELTS, MOST_FORWARDED_TRANSACTIONS
from wsnode.starknet.rpc.params import MOST_ADDRESSES, MOST_CONTRACTS, MOST_PROVED_KEYS
from wsnode.starknet.rpc.subscription_params import MOST_SENDERS
from wsnode.starknet.rpc.subscriptions import (
    MOST_BLOCKS_BACK,
    MOST_PARAMETERS,
    MOST_PARAMETERS_A_CONNECTION,
)
from wsnode.starknet.storage.event_bloom import MOST_KEYS

STARKNET_LIMITS: Final = {
    "starknet_events": MOST_EVENTS,
    "starknet_events_blocks": MOST_BLOCKS,
    "starknet_events_bytes": MOST_BYTES,
    "starknet_events_addresses": MOST_ADDRESSES,
    "starknet_events_keys": MOST_KEYS,
    "starknet_state_update_contracts": MOST_CONTRACTS,
    "starknet_proof_keys": MOST_PROVED_KEYS,
    "starknet_proof_blocks": PROVED_BLOCKS,
    "starknet_proof_values": MOST_VALUES,
    "starknet_forwarded_calls": MOST_FORWARDED,
    "starknet_forwarded_bytes": MOST_FORWARDED_BYTES,
    "starknet_forwarded_seconds": FORWARDED_SECONDS,
    "starknet_forwarded_transactions": MOST_FORWARDED_TRANSACTIONS,
    "starknet_forwarded_felts": MOST_FORWARDED_FELTS,
    "starknet_sent_seconds": SENT_SECONDS,
    "starknet_sent_bytes": MOST_SENT_BYTES,
    "starknet_proving": MOST_PROVING,
    "starknet_subscription_blocks_back": MOST_BLOCKS_BACK,
    "starknet_subscription_senders": MOST_SENDERS,
    "starknet_subscriptions_parameters": MOST_PARAMETERS,
    "starknet_subscriptions_parameters_per_connection": MOST_PARAMETERS_A_CONNECTION,
}
