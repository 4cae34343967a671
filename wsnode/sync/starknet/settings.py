"""Configuration of a followed Starknet chain."""

from typing import Annotated, Final

import msgspec

from wsnode.upstream.address import MAX_UPSTREAMS, require_upstreams, usual_agreement

PREFIX: Final = "starknet"
STARKNET_CHAINS: Final = {"starknet": "SN_MAIN", "starknet-sepolia": "SN_SEPOLIA"}
"""Chain names of the public networks, as in `starknet_chainId`, by their names in a configuration."""
OTHER_CHAIN: Final = "starknet:"
"""Text before another network's chain id in a configuration."""
DEFAULT_STARKNET_WINDOW: Final = 20_000
"""Blocks kept by a light folder by default: eleven hours, at a block every two seconds."""


MIN_FULL_WINDOW: Final = 128
"""Minimum number of blocks kept by a full folder: branches that leave the chain below are not followed."""


def is_starknet(name: str) -> bool:
    """Return True if a chain's name belongs to Starknet; `starknet_chain` checks the rest of it."""
    return name.startswith(PREFIX)


def starknet_chain(name: str) -> str:
    """Return a chain's name in a configuration, with a chain id in hex replaced by its text.

    Raises:
        ValueError: It is neither the name of a public network, nor OTHER_CHAIN and a chain id.
    """
    if name in STARKNET_CHAINS:
        return name
    if not name.startswith(OTHER_CHAIN):
        raise ValueError(f"it is {', '.join(STARKNET_CHAINS)} or {OTHER_CHAIN}CHAIN_ID, got {name[:80]!r}")
    # Imported here, so that nodes of other chains load nothing of Starknet.
    from wsnode.starknet.felt import chain_id_text

    return OTHER_CHAIN + chain_id_text(name.removeprefix(OTHER_CHAIN))


class FollowStarknetConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for following other Starknet nodes: the chain, their URLs, and how many of them must have a
    block before it is the head.
    """

    chain: str
    """Chain: `starknet`, `starknet-sepolia`, or `starknet:` and another network's chain id in text or in hex,
    as in `starknet:SN_TEST`, which is `starknet:0x534e5f54455354`.
    """
    upstreams: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MAX_UPSTREAMS)]
    """URLs of the nodes, with the path of the specification's version: `ws://`, `wss://`, `http://` or
    `https://`.
    """
    agree: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of upstreams that must have a block; if absent 1 of one or two upstreams, 2 of more."""
    max_lag: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 2
    """Blocks by which the head may be behind; beyond them `/readyz` is 503 until it is reached again."""
    light: bool = False
    """True to have a new folder begin at the upstreams' head and keep a window of blocks.

    A public network's is light unless `full`, one of another network is full unless `light`.
    """
    full: bool = False
    """True to have a new folder of a public network begin with its first block, and recompute state roots."""
    window: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] | None = None
    """Number of blocks kept: of a light folder 20,000 if absent, of a full one all."""
    checkpoint: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{1,64}$")] | None = None
    """Hash of the first block of a new light folder; the upstreams' head if absent."""
    pre_confirmed_interval: Annotated[float, msgspec.Meta(ge=0, le=60)] | None = None
    """Seconds between polls of the pre-confirmed block; 0 turns them off, which saves calls of a hosted node.

    If absent 0.25, and 0.5 where all upstreams are asked over HTTP.
    """

    @property
    def chain_id(self) -> str:
        """Return the chain's name in `starknet_chainId`, such as SN_MAIN."""
        return STARKNET_CHAINS.get(self.chain) or self.chain.partition(":")[2]

    @property
    def is_light(self) -> bool:
        """Return True if a new folder keeps a window of blocks."""
        return self.light or (self.chain in STARKNET_CHAINS and not self.full)

    @property
    def kept(self) -> int | None:
        """Return the number of blocks kept by a new folder, or None for all."""
        return (self.window or DEFAULT_STARKNET_WINDOW) if self.is_light else self.window

    @property
    def agreeing(self) -> int:
        """Return the number of upstreams that must have a block before it becomes the head."""
        return usual_agreement(len(self.upstreams)) if self.agree is None else self.agree

    def __post_init__(self) -> None:
        """Replace a chain id in hex by its text.

        Raises:
            ValueError: The chain's name is invalid, an upstream is no URL of a node or is repeated, or
                settings contradict.
        """
        try:
            msgspec.structs.force_setattr(self, "chain", starknet_chain(self.chain))
        except ValueError as error:
            raise ValueError(f"chain: {error}") from None
        require_upstreams(self.upstreams)
        if self.agreeing > len(self.upstreams):
            raise ValueError(f"agree: {self.agreeing} of {len(self.upstreams)} upstreams cannot agree")
        if self.light and self.full:
            raise ValueError("light and full exclude each other")
        if not self.is_light and self.checkpoint is not None:
            raise ValueError("a checkpoint is of light folders: say light")
        if not self.is_light and self.window is not None and self.window < MIN_FULL_WINDOW:
            raise ValueError(f"window: a full folder keeps {MIN_FULL_WINDOW} blocks at least")
