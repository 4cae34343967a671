"""Which clients count as one where only the address is known."""

import pytest

from wsnode.server.accepting import peer_of


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        (("192.0.2.7", 4000), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 4000, 0, 0), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::1", 4000, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 4000, 0, 2), "fe80::/64"),
        (("::ffff:192.0.2.7", 4000, 0, 0), "192.0.2.7"),
        (("127.0.0.1", 4000), None),
        (("::1", 4000, 0, 0), None),
        (("::ffff:127.0.0.1", 4000, 0, 0), None),
        ("", None),
        (b"", None),
    ],
)
def test_an_address_stands_for_its_network(address: object, peer: str | None) -> None:
    assert peer_of(address) == peer
