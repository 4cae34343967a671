"""Identity of a client by its address."""

from ipaddress import IPv6Address, ip_address


def peer_of(address: object) -> str | None:
    """Return the IPv4 address of a socket's address, or its IPv6 network of 64 bits; None for this machine.

    Clients behind a proxy on this machine differ by their connections only.
    """
    if not isinstance(address, tuple) or not address:
        return None
    found = ip_address(str(address[0]).partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return None
    if isinstance(found, IPv6Address):
        return str(IPv6Address(int(found) >> 64 << 64)) + "/64"
    return str(found)
