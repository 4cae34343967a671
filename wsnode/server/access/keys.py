"""API keys in a file: only their hashes are kept, and a running server follows every change."""

import fcntl
import hashlib
import logging
import math
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import trio

from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.server.access.rate_limit import KeyAccount, RateLimiter
from wsnode.untrusted.decoding import JsonDecoder, MalformedError
from wsnode.untrusted.files import open_regular, read_file

FILE_NAME = "keys.json"
KEY_BYTES = 24
PREFIX = "wsn_"
POLL_SECONDS = 1.0
TELL_SECONDS = 60.0
"""Seconds between two log lines about an unreadable file."""
TICK_NANOSECONDS = 50_000_000
ABSENT = "absent"

logger = logging.getLogger("wsnode.server")


class KeyFileError(Exception):
    """The file of keys cannot be read, or cannot be changed as asked; the message is for its owner."""


class MissingKeyFileError(KeyFileError):
    """There is no file of keys."""


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it is kept: under its name, by its hash."""

    name: str
    sha256: str
    created: str
    limits: KeyLimits = KeyLimits()


MOST_BYTES: Final = 64 << 20
_KEYS: Final = JsonDecoder[list[StoredKey]](list[StoredKey])


class KeyFile:
    """The keys of one data folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[StoredKey]:
        """Return the keys, none if there is no file.

        Raises:
            KeyFileError: The file holds something else.
        """
        try:
            return self.read_stored()
        except MissingKeyFileError:
            return []

    def read_stored(self) -> list[StoredKey]:
        """Return the keys of a file that is there.

        Raises:
            MissingKeyFileError: There is no file.
            KeyFileError: The file cannot be read, or holds something else.
        """
        try:
            return _KEYS.decode(read_file(self.path, MOST_BYTES))
        except FileNotFoundError as error:
            raise MissingKeyFileError(f"{self.path}: {error.strerror}") from error
        except OSError as error:
            raise KeyFileError(f"{self.path}: {error.strerror or error}") from error
        except MalformedError as error:
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
            keys.append(
                StoredKey(name=name, sha256=hash_of(key), created=created, limits=limits or KeyLimits())
            )
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
    def _changing(self) -> Iterator[list[StoredKey]]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked():
                keys = self.read()
                yield keys
                self._write(keys)
        except OSError as error:
            raise KeyFileError(f"{self.path}: {error.strerror or error}") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # A lock needs no right to write, so another user's lock file will do.
        lock = open_regular(self.path.with_suffix(".lock"), os.O_RDONLY | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, keys: list[StoredKey]) -> None:
        # Renamed into place, so that a server that reads meanwhile sees the old file or the new one.
        fresh = self.path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                self._keep_owner(file.fileno())
                file.write(msgspec.json.format(msgspec.json.encode(keys)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                fresh.unlink()
                raise
        fresh.replace(self.path)

    def _keep_owner(self, fresh: int) -> None:
        """Give a new file the owner and the mode of the file that it replaces, for its readers.

        The first file gets the owner of its folder, if this user may change owners.

        Raises:
            KeyFileError: This user may not give files to the owner.
        """
        try:
            before, first = self.path.stat(), False
        except FileNotFoundError:
            before, first = self.path.parent.stat(), True
        now = os.fstat(fresh)
        try:
            if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
                os.fchown(fresh, before.st_uid, before.st_gid)
        except PermissionError:
            if not first:
                raise KeyFileError(
                    f"{self.path} belongs to user {before.st_uid}, group {before.st_gid}: "
                    "change it as that user, or the server could not read it any more"
                ) from None
        if not first:
            os.fchmod(fresh, stat.S_IMODE(before.st_mode))


class KeyFileStore:
    """The keys of a file, for a server."""

    def __init__(
        self,
        file: KeyFile,
        clock: Callable[[], float] = time.monotonic,
        rate_limiter_of: Callable[[str], RateLimiter | None] = lambda _digest: None,
    ) -> None:
        """`rate_limiter_of` returns what counts the use of the key with this hash; None for this process
        alone.

        Raises:
            KeyFileError: The file cannot be read.
        """
        self._file = file
        self._uses_of = rate_limiter_of
        self._clock = clock
        self._in_use: dict[str, ApiKey] = {}
        self._unreadable: object = None
        """The stamp of the last file if it could not be read, else None."""
        self._told = -math.inf
        self._stamp = self._current_stamp()
        """The stamp of the file that was read last."""
        self._is_known = self._stamp != ABSENT
        """Whether there ever was a file: one that goes away revokes nothing."""
        self._take_over(file.read())

    @property
    def is_empty(self) -> bool:
        """Return whether there is no key, so that every request is refused."""
        return not self._in_use

    def lookup(self, key: str) -> ApiKey | None:
        """Return what `key` grants, if it is known now."""
        self.refresh()
        # What could be timed is the look-up of a hash, which leads to no key.
        return self._in_use.get(hash_of(key))

    def accounts(self) -> dict[str, KeyAccount]:
        """Return the credits that several machines count together, by the keys' hashes."""
        found = ((digest, grant.account) for digest, grant in self._in_use.items())
        return {digest: account for digest, account in found if account is not None}

    def refresh(self) -> None:
        """Read the file again if it has changed; what cannot be read changes nothing."""
        stamp = self._current_stamp()
        if stamp != self._unreadable and (stamp != self._stamp or _is_recent(stamp)):
            self._read(stamp)

    def reload(self) -> None:
        """Read the file again whether it has changed or not; what cannot be read changes nothing."""
        self._told = -math.inf
        self._read(self._current_stamp())

    async def watch(self) -> None:
        """Follow the file's changes for ever, so that open connections feel them too.

        What could not be read is tried again: a right to read it may have come from elsewhere.
        """
        while True:
            await trio.sleep(POLL_SECONDS)
            if self._unreadable is None:
                self.refresh()
            else:
                self._read(self._current_stamp())

    def _read(self, stamp: object) -> None:
        """Take the file over, which had `stamp` before; say once a minute that it cannot be read."""
        try:
            keys = self._file.read_stored() if self._is_known else self._file.read()
        except KeyFileError as error:
            self._unreadable = stamp
            if (now := self._clock()) - self._told >= TELL_SECONDS:
                self._told = now
                logger.error("%s; the keys read before stay in force, also those revoked since", error)  # noqa: TRY400
            return
        if self._unreadable is not None:
            logger.warning("%s can be read again: its keys are in force", self._file.path)
        # Set only after reading: an unread file must not count as known.
        self._stamp, self._unreadable, self._told = stamp, None, -math.inf
        self._is_known = self._is_known or stamp != ABSENT
        self._take_over(keys)

    def _take_over(self, stored: list[StoredKey]) -> None:
        keys = {key.sha256: key for key in stored}
        for digest in self._in_use.keys() - keys.keys():
            self._in_use.pop(digest).revoke()
        for digest, key in keys.items():
            if (grant := self._in_use.get(digest)) is None:
                self._in_use[digest] = ApiKey(key.name, key.limits, self._clock, self._uses_of(digest))
            elif grant.limits != key.limits:
                grant.change(key.limits)

    def _current_stamp(self) -> object:
        """Return what changes whenever the file, its owner or its mode do."""
        try:
            status = self._file.path.stat()
        except FileNotFoundError:
            return ABSENT
        except OSError as error:
            return error.errno
        return status.st_ctime_ns, status.st_mtime_ns, status.st_ino, status.st_size


def _is_recent(stamp: object) -> bool:
    """Return whether a file may still change without a new stamp: the kernel's clock ticks slowly."""
    return isinstance(stamp, tuple) and 0 <= time.time_ns() - stamp[0] < TICK_NANOSECONDS


def hash_of(key: str) -> str:
    """Return the stored hash of a key."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()
