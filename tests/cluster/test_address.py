"""Addresses of journals: what they name, and what they show."""

import re

import pytest

from wsnode.cluster.address import JournalAddress, JournalAddressError


def test_a_server_is_named_by_host_port_and_database() -> None:
    address = JournalAddress.parse("rediss://user:p%40ss@redis.example:7000/3?network=alpha&cafile=/ca.pem")
    assert address == JournalAddress(
        scheme="rediss",
        hosts=(("redis.example", 7000),),
        user="user",
        password="p@ss",
        database=3,
        network="alpha",
        cafile="/ca.pem",
    )
    assert address.is_encrypted


@pytest.mark.parametrize(
    ("url", "hosts", "service", "database"),
    [
        ("redis://[::1]", (("::1", 6379),), "", 0),
        ("redis+sentinel://one,two:7000/name/2", (("one", 26379), ("two", 7000)), "name", 2),
        ("rediss+cluster://:secret@one,two:7000", (("one", 6379), ("two", 7000)), "", 0),
    ],
)
def test_several_hosts_are_those_of_sentinels_or_a_cluster(
    url: str, hosts: tuple[tuple[str, int], ...], service: str, database: int
) -> None:
    address = JournalAddress.parse(url)
    assert (address.hosts, address.service, address.database) == (hosts, service, database)


def test_a_socket_is_named_by_its_path() -> None:
    address = JournalAddress.parse("unix:///run/redis/a%20b.sock?network=beta")
    assert (address.path, address.hosts, address.network) == ("/run/redis/a b.sock", (), "beta")


@pytest.mark.parametrize(
    "url",
    ["redis://:SECRET@one", "redis+sentinel://SECRET:SECRET@one/name", "rediss+cluster://SECRET@one,two"],
)
def test_no_secret_is_shown(url: str) -> None:
    address = JournalAddress.parse(url)
    assert "SECRET" not in f"{address}{address!r}"
    assert "one" in str(address)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:SECRET@one", "redis://one:6379"),
        ("redis://:SECRET@one/3?network=alpha&cafile=/ca.pem", "redis://one:6379/3?network=alpha"),
        ("redis+sentinel://one,two/name/2", "redis+sentinel://one:26379,two:26379/name/2"),
        ("unix:///run/redis.sock?network=beta", "unix:///run/redis.sock?network=beta"),
    ],
)
def test_all_that_tells_journals_apart_is_shown(url: str, shown: str) -> None:
    assert str(JournalAddress.parse(url)) == shown


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("SECRET", "begins with one of redis"),
        ("http://SECRET", "begins with one of redis"),
        ("redis://:SECRET@", "names each host"),
        ("redis://:SECRET@host:port", "names each host"),
        ("redis://:SECRET@one,two", "names one host"),
        ("redis://:SECRET@one/two", "a database's number"),
        ("redis://:SECRET@one/1/2", "a database's number"),
        ("redis+sentinel://:SECRET@one", "names a service"),
        ("redis+cluster://:SECRET@one/1", "no databases"),
        ("redis://:SECRET@one?name=x", "no option 'name'"),
        ("redis://:SECRET@one?network", "a journal's URL cannot be parsed: write redis://HOST:PORT"),
        ("redis://:SECRET@one?network=a{b}", "64 letters"),
        ("redis://[:SECRET@one", "a journal's URL cannot be parsed: write redis://HOST:PORT"),
        ("redis://user:SE/CRET@one:7000", "%2F for /"),
        ("redis://user:SE?CRET@one:7000", "%3F for ?"),
        ("redis://user:SE#CRET@one:7000", "%23 for #"),
        ("unix://", "by its whole path"),
        ("unix:SECRET", "by its whole path"),
        ("unix://:SECRET@run/redis.sock", "by its whole path"),
    ],
)
def test_a_url_that_names_no_journal_is_refused_without_its_secret(url: str, reason: str) -> None:
    with pytest.raises(JournalAddressError, match=re.escape(reason)) as raised:
        JournalAddress.parse(url)
    assert "CRET" not in str(raised.value)
