"""API keys in a file: only their hashes are kept, and a running server follows every change."""

import fcntl
import hashlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec
import trio

from wsnode.server.grants import Grant, KeyLimits

FILE_NAME = "keys.json"
KEY_BYTES = 24
PREFIX = "wsn_"
POLL_SECONDS = 1.0

logger = logging.getLogger("wsnode.server")


class KeyFileError(Exception):
    """The file of keys cannot be read, or cannot be changed as asked; the message is for its owner."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it is kept: under its name, by its hash."""

    name: str
    sha256: str
    created: str
    limits: KeyLimits = KeyLimits()


class KeyFile:
    """The keys of one data folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Key]:
        """Return the keys, none if there is no file.

        Raises:
            KeyFileError: The file holds something else.
        """
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=list[Key])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            raise KeyFileError(f"{self.path}: {error}") from error

    def add(self, name: str, limits: KeyLimits | None = None) -> str:
        """Return a new key, of which only the hash is kept.

        Raises:
            KeyFileError: The name is taken, or the file cannot be written.
        """
        # 192 random bits cannot be guessed, so a plain hash needs no salt and no stretching.
        key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with self._changing() as keys:
            if any(each.name == name for each in keys):
                raise KeyFileError(f"there is a key named {name} already")
            keys.append(Key(name=name, sha256=hash_of(key), created=created, limits=limits or KeyLimits()))
        return key

    def revoke(self, name: str) -> None:
        """Forget the key `name`.

        Raises:
            KeyFileError: There is none, or the file cannot be written.
        """
        with self._changing() as keys:
            kept = [key for key in keys if key.name != name]
            if len(kept) == len(keys):
                raise KeyFileError(f"there is no key named {name}")
            keys[:] = kept

    @contextmanager
    def _changing(self) -> Iterator[list[Key]]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.with_suffix(".lock").open("wb") as lock:
                _lock(lock)
                keys = self.read()
                yield keys
                self._write(keys)
        except OSError as error:
            raise KeyFileError(f"{self.path}: {error.strerror or error}") from error

    def _write(self, keys: list[Key]) -> None:
        # Renamed into place, so that a server that reads meanwhile sees the old file or the new one.
        fresh = self.path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(keys)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)


class KeyFileRing:
    """The keys of a file, for a server."""

    def __init__(self, file: KeyFile, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises KeyFileError if the file cannot be read."""
        self._file = file
        self._clock = clock
        self._grants: dict[str, Grant] = {}
        self._stamp: object = None
        self._load()

    def lookup(self, key: str) -> Grant | None:
        """Return what `key` grants, if it is known now."""
        self.refresh()
        # What could be timed is the look-up of a hash, which leads to no key.
        return self._grants.get(hash_of(key))

    def refresh(self) -> None:
        """Read the file again if it has changed; what cannot be read changes nothing."""
        if self._current_stamp() != self._stamp:
            try:
                self._load()
            except KeyFileError as error:
                logger.error("%s; the keys read before stay in force", error)  # noqa: TRY400

    async def watch(self) -> None:
        """Follow the file's changes for ever, so that open connections feel them too."""
        while True:
            await trio.sleep(POLL_SECONDS)
            self.refresh()

    def _load(self) -> None:
        self._stamp = self._current_stamp()
        keys = {key.sha256: key for key in self._file.read()}
        for digest in self._grants.keys() - keys.keys():
            self._grants.pop(digest).revoke()
        for digest, key in keys.items():
            if (grant := self._grants.get(digest)) is None:
                self._grants[digest] = Grant(key.name, key.limits, self._clock)
            elif grant.limits != key.limits:
                grant.change(key.limits)

    def _current_stamp(self) -> object:
        try:
            status = self._file.path.stat()
        except FileNotFoundError:
            return "absent"
        return status.st_mtime_ns, status.st_ino, status.st_size


def hash_of(key: str) -> str:
    """Return what is kept of a key."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()


def _lock(file: BinaryIO) -> None:
    fcntl.flock(file, fcntl.LOCK_EX)
