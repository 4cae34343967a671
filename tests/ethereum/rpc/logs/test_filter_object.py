import pytest

from wsnode.ethereum.rpc.logs.filter_object import decode_filter_object

ADDRESS = "0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"
TOPIC = "0x" + "22" * 32
RAW_TOPIC = b"\x22" * 32


@pytest.mark.parametrize(
    ("log_filter", "message"),
    [
        ("x", "json: cannot unmarshal string into Go value of type filters.input"),
        ([], "json: cannot unmarshal array into Go value of type filters.input"),
        ({"blockHash": "0x12"}, "hex string has length 2, want 64 for common.Hash"),
        (
            {"blockHash": 5},
            "json: cannot unmarshal non-string into Go struct field input.blockHash of type common.Hash",
        ),
        (
            {"blockHash": TOPIC, "toBlock": "0x1"},
            "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
        ),
        ({"fromBlock": 5}, "hex string without 0x prefix"),
        ({"fromBlock": ""}, "empty hex string"),
        ({"fromBlock": TOPIC}, "hex number > 64 bits"),
        (
            {"address": "0x12"},
            "invalid address: hex has invalid length 1 after decoding; expected 20 for address",
        ),
        ({"address": ""}, "invalid address: empty hex string"),
        ({"address": 5}, "invalid addresses in query"),
        ({"address": {}}, "invalid addresses in query"),
        ({"address": [ADDRESS, 5]}, "non-string address at index 1"),
        ({"address": [ADDRESS, None]}, "non-string address at index 1"),
        ({"address": ["zz", 5]}, "invalid address at index 0: hex string without 0x prefix"),
        ({"address": ["0xzz"]}, "invalid address at index 0: invalid hex string"),
        ({"address": ["0x123"]}, "invalid address at index 0: hex string of odd length"),
        ({"topics": [TOPIC] * 5}, "exceed max topics"),
        (
            {"topics": "x"},
            "json: cannot unmarshal string into Go struct field input.topics of type []interface {}",
        ),
        ({"topics": [5]}, "invalid topic(s)"),
        ({"topics": [[5]]}, "invalid topic(s)"),
        ({"topics": [{}]}, "invalid topic(s)"),
        ({"topics": ["0x12"]}, "hex has invalid length 1 after decoding; expected 32 for topic"),
        ({"topics": [""]}, "empty hex string"),
        ({"topics": [["zz"]]}, "hex string without 0x prefix"),
    ],
)
def test_a_malformed_filter_is_refused_in_geths_words(log_filter: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode_filter_object(log_filter)
    assert str(caught.value) == message


def test_a_null_alternative_stands_for_any_topic() -> None:
    decoded = decode_filter_object({"topics": [None, [], [TOPIC, None, 5], [TOPIC]]})
    assert decoded.wanted.topics == [[], [], [], [RAW_TOPIC]]


def test_addresses_and_topics_are_counted_together() -> None:
    decoded = decode_filter_object({"address": [ADDRESS] * 3, "topics": [TOPIC, [TOPIC, TOPIC]]})
    assert decoded.wanted.parameter_count == 6


def test_members_are_read_in_any_case() -> None:
    assert decode_filter_object({"blockhash": TOPIC}).block_hash == RAW_TOPIC
