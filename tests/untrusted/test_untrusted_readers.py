"""Every door where foreign bytes enter, with bytes that nobody honest sends: each has its typed error.

What is read by the engine is fuzzed in Rust as well (`fuzz/`).
"""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pytest
import trio
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, memory_stream_pair
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Request, TextMessage

from tests.untrusted.hostile import frame, texts, values
from wsnode.cli.status.report import lines_of
from wsnode.cluster import redis_journal
from wsnode.cluster.membership import decode_nodes
from wsnode.cluster.pool.stream import decode_change
from wsnode.cluster.records import VERSION, ChainMismatchError, UnreadableRecordError, decode_record
from wsnode.ethereum.codec.blocks import encode_json_block, encode_json_receipts, read_json_header
from wsnode.ethereum.rpc.common.below_fork import is_above
from wsnode.ethereum.state import InvalidBlockError
from wsnode.jsonrpc.errors import RpcError
from wsnode.load.frames import error_text, outcome
from wsnode.load.lag.notice import read as read_notice
from wsnode.load.mix.samples import take_samples
from wsnode.load.replay.measure import RequestLines
from wsnode.node.workers.ipc import IpcChannel, UnreadableMessageError, ends
from wsnode.node.workers.messages import ToParent
from wsnode.server.access.keys import KeyFile, KeyFileError
from wsnode.snapshots import manifest
from wsnode.snapshots.errors import CopyError
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import NotAClassError
from wsnode.starknet.dump.documents import read_document
from wsnode.starknet.dump.files import documents
from wsnode.starknet.dump.header_members import header_members
from wsnode.starknet.dump.receipt_block import node_block
from wsnode.starknet.errors import BlockDumpError
from wsnode.starknet.native import (
    RefusedBlockError,
    RefusedProofError,
    verify_starknet_block,
    verify_starknet_proof,
)
from wsnode.sync.follow.beacon.identity import chain_of, decode_config, decode_identity
from wsnode.sync.follow.blocks.block_client import decode_rpc_block
from wsnode.sync.proofs.state_request import StateRequest, listed, proofs_of, unverified_code_hash, with_codes
from wsnode.sync.starknet.pre_confirmed import Base, decode_pre_confirmed
from wsnode.untrusted.decoding import MalformedError, decode_json
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client
from wsnode.upstream.errors import UpstreamError
from wsnode.verify.cases import CaseFileError, read_case
from wsnode.verify.comparison import reply_difference
from wsnode.verify.differential import ComparisonPlan, compare
from wsnode.verify.differential import NodeMismatchError as OtherNodeError

GENESIS: Final = bytes(32)
WANTED: Final = [StateRequest(bytes(20), (bytes(32),))]
BLOCK: Final = b'{"hash":"0x%b","number":"0x1","parentHash":"0x%b","uncles":%%b}' % (b"1" * 64, b"2" * 64)

UPSTREAM: Final[dict[str, tuple[Callable[[bytes], Any], type[Exception]]]] = {
    "a block's place": (decode_rpc_block, UpstreamError),
    "a block": (lambda text: encode_json_block(text, []), InvalidBlockError),
    "an ommer": (lambda text: encode_json_block(BLOCK % b'["0x"]', [text]), InvalidBlockError),
    "a header": (read_json_header, InvalidBlockError),
    "receipts": (encode_json_receipts, InvalidBlockError),
    "a proof": (lambda text: proofs_of(WANTED, [text, b'"0x"']), UpstreamError),
    "code": (lambda text: with_codes([(b"", [], [], None)], {0: text}), UpstreamError),
    "the hash of code": (unverified_code_hash, UpstreamError),
    "an access list": (listed, UpstreamError),
    "a beacon node's identity": (lambda text: chain_of(decode_identity(text, text)), MalformedError),
    "a beacon chain's configuration": (lambda text: chain_of(decode_config(text)), MalformedError),
    "a storage proof": (
        lambda text: verify_starknet_proof(text, GENESIS, GENESIS, b"", [(GENESIS, GENESIS)]),
        RefusedProofError,
    ),
    "a pre-confirmed Starknet block": (
        lambda text: decode_pre_confirmed(text, text, Base(0, GENESIS, GENESIS), "SN_TEST"),
        MalformedError,
    ),
    "a result that is handed on": (lambda text: is_above(text, 1), RpcError),
}
JOURNAL: Final[dict[str, tuple[Callable[[bytes], Any], Any]]] = {
    "a record": (lambda text: decode_record(text, GENESIS), (UnreadableRecordError, ChainMismatchError)),
    "a packed record": (
        lambda text: decode_record(VERSION + zstandard.compress(text), GENESIS),
        (UnreadableRecordError, ChainMismatchError),
    ),
    "the last record's id": (redis_journal.record_id, UnreadableRecordError),
    "a change of the pool": (lambda text: decode_change("1-1", text), UnreadableRecordError),
    "a node": (lambda text: list(decode_nodes([text])), ()),
}
FILES: Final[dict[str, tuple[Callable[[bytes], Any], Any]]] = {
    "a dump's document": (read_document, ()),
    "members of a header": (header_members, ()),
    "a class": (decode_class, NotAClassError),
    "a block of the gateway": (node_block, MalformedError),
    "a Starknet block": (lambda text: verify_starknet_block(text, text, "SN_TEST"), RefusedBlockError),
}


class Node:
    """A node that answers each question with the same value."""

    def __init__(self, text: bytes) -> None:
        self.value = decode_json(text)

    def ask(self, _method: str, *_params: object) -> Any:
        """Return the value as a result."""
        return self.value

    def reply(self, _method: str, _params: list[Any]) -> dict[str, Any]:
        """Return a reply with the value as its result."""
        return {"result": self.value}

    try_ask = ask


def heard(text: bytes) -> object:
    """Return what a parent reads of a worker's message."""
    ours, theirs = ends()
    with ours, theirs:
        memory = os.memfd_create("message", os.MFD_CLOEXEC)
        os.write(memory, text)
        socket.send_fds(theirs, [b"\1"], [memory])
        os.close(memory)
        return IpcChannel[ToParent](ours, ToParent).receive_nowait()


def compared(text: bytes) -> list[str | None]:
    """Return how a reply differs from one that is expected, and from itself."""
    call, reply = '{"id":1,"method":"eth_call"}', text.decode(errors="replace")
    return [
        reply_difference(call, reply, expected, shape_only=shape_only)
        for expected in ('{"result":[{}]}', reply)
        for shape_only in (False, True)
    ]


def asked_of_both(text: bytes) -> object:
    """Return how a node differs from itself."""
    node = Node(text)
    return compare(node.reply, node.reply, ComparisonPlan(calls=10))


WORKERS: Final[dict[str, tuple[Callable[[bytes], Any], Any]]] = {
    "a worker's message": (heard, UnreadableMessageError),
}
NODES: Final[dict[str, tuple[Callable[[bytes], Any], Any]]] = {
    "a reply that is compared": (compared, ()),
    "a reply of one of two nodes": (asked_of_both, (MalformedError, OtherNodeError)),
    "a reply under load": (outcome, ()),
    "an error under load": (error_text, ()),
    "a notification under load": (read_notice, ()),
    "samples of a chain": (lambda text: take_samples(Node(text)), MalformedError),
    "recorded requests": (lambda text: list(RequestLines(BytesIO(text))), ()),
    "a status": (lambda text: lines_of(decode_json(text)), MalformedError),
}
READERS: Final = {**UPSTREAM, **JOURNAL, **FILES, **WORKERS, **NODES}

MEMBERS: Final = (
    b'{"hash":%b}',
    b'{"accountProof":%b,"storageProof":[]}',
    b'{"accountProof":[],"storageProof":[{"proof":%b}]}',
    b'{"accessList":[{"address":%b}]}',
    b'{"number":%b}',
    b'[{"blockNumber":%b}]',
    b'{"block_hash":"0x1","new_root":"0x1","old_root":"0x1","state_diff":%b}',
    b'{"block_hash":"0x1","timestamp":%b}',
    b'{"0x1":%b}',
    b'{"program":%b,"entry_points_by_type":{}}',
    b'{"sierra_program":%b,"contract_class_version":"1","entry_points_by_type":{}}',
    b'{"result":%b}',
    b'{"transactions":[{"version":%b}],"transaction_receipts":[]}',
    b'{"block_hash":"0x1","parent_hash":%b}',
    b'{"transactions":[{"transaction":{"signature":%b}}]}',
    b'{"name":%b,"url":"","number":1,"hash":""}',
    b'{"name":"","url":"","number":%b,"hash":""}',
    BLOCK,
    b'{"method":%b,"params":[]}',
    b'{"method":"eth_call","params":%b,"time":1}',
    b'{"method":"eth_call","time":%b}',
    b'{"id":1,"error":%b}',
    b'{"params":{"result":{"hash":%b}}}',
    b'{"mode":"full","upstreams":%b}',
    b'{"mode":"full","upstreams":[],"head":{"number":%b}}',
    b'{"number":"0x1","hash":"0x","miner":"0x","transactions":%b}',
)
within_members = st.tuples(st.sampled_from(MEMBERS), values).map(lambda parts: parts[0] % parts[1])
foreign = st.one_of(texts, within_members)

drawn = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.mark.slow
@pytest.mark.parametrize("door", READERS)
@given(text=foreign)
@drawn
def test_a_reader_of_foreign_bytes_raises_its_own_error_alone(door: str, text: bytes) -> None:
    read, expected = READERS[door]
    with suppress(expected):
        read(text)


NEAR_THE_LIMIT: Final = range(sys.getrecursionlimit() - 100, sys.getrecursionlimit())
"""Depths at which a decoder takes a value, and what is done with it afterwards may fail."""


@pytest.mark.slow
@pytest.mark.parametrize("door", READERS)
def test_values_as_deep_as_a_decoder_takes_them_are_no_other_error(door: str) -> None:
    read, expected = READERS[door]
    for depth in NEAR_THE_LIMIT:
        for value in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
            for text in (value, b'{"number":%b}' % value, b'{"id":1,"result":%b}' % value):
                with suppress(expected):
                    read(text)


@given(text=foreign)
@drawn
def test_a_manifest_is_read_or_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / manifest.NAME).write_bytes(text)
    with suppress(CopyError):
        manifest.read(tmp_path)


@given(text=foreign, name=st.sampled_from(["1.json", "1.jsonl", "1.json.gz"]))
@drawn
def test_a_dump_is_read_or_refused(tmp_path: Path, text: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(text)
    with suppress(BlockDumpError):
        for _place, document in documents(path):
            read_document(document)


@given(text=foreign, mark=st.sampled_from([b"%b", b">> %b\n<< {}", b">> {}\n<< %b"]))
@drawn
def test_a_case_file_is_read_or_refused(tmp_path: Path, text: bytes, mark: bytes) -> None:
    path = tmp_path / "case.io"
    path.write_bytes(mark % text)
    with suppress(CaseFileError):
        read_case(path, tmp_path)


async def answered(url: str, say: Callable[[trio.abc.Stream], Any]) -> Client:
    """Return a client that asked one question of a server; it is not running any more."""

    async def connect(_address: UpstreamAddress) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        ours, theirs = memory_stream_pair()
        nursery.start_soon(serve, theirs)
        return ours

    async def serve(stream: trio.abc.Stream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await say(stream)
            await stream.aclose()

    client = Client(UpstreamAddress.parse(url), connect=connect, seconds=5)
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        with suppress(UpstreamError):
            await client.ask("eth_chainId", [])
        nursery.cancel_scope.cancel()
    return client


def post_of(text: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text)


REPLIES: Final = (
    b"%b",
    b'{"id":1,"result":%b}',
    b'{"id":1,"error":%b}',
    b'{"id":1,"error":{"message":%b}}',
    b'{"id":1,"error":{"code":%b}}',
    b'[{"id":1,"result":%b}]',
)
replies = st.tuples(
    st.sampled_from(REPLIES),
    st.one_of(texts, values),
).map(lambda parts: parts[0] % parts[1])


@given(reply=replies, is_framed=st.booleans())
@drawn
def test_an_http_upstream_may_answer_anything(reply: bytes, is_framed: bool) -> None:
    async def say(stream: trio.abc.Stream) -> None:
        await stream.receive_some()
        await stream.send_all(post_of(reply) if is_framed else reply)

    client = trio.run(answered, "http://node/", say, clock=MockClock(autojump_threshold=0))
    assert client.score.failures <= 2


@given(reply=replies, first=st.sampled_from([0x81, 0x82, 0x01, 0x80, 0x88, 0x89, 0x8A, 0xF1]))
@drawn
def test_a_websocket_upstream_may_send_anything(reply: bytes, first: int) -> None:
    async def say(stream: trio.abc.Stream) -> None:
        server = WSConnection(ConnectionType.SERVER)
        while True:
            server.receive_data(bytes(await stream.receive_some()))
            for event in server.events():
                if isinstance(event, Request):
                    await stream.send_all(server.send(AcceptConnection()))
                elif isinstance(event, TextMessage):
                    await stream.send_all(frame(reply, first))
                    return

    client = trio.run(answered, "ws://node/", say, clock=MockClock(autojump_threshold=0))
    assert client.score.failures <= 2


@given(text=foreign)
@drawn
def test_a_file_of_keys_is_read_or_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(text)
    with suppress(KeyFileError):
        KeyFile(path).read()
