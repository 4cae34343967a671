"""API keys in a file, which has only their hashes; a running server follows changes of the file."""

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
    """Error of a key file that cannot be read, or changed as asked; the message is for its owner."""


class MissingKeyFileError(KeyFileError):
    """Error of a key file that does not exist."""


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """Entry of the key file: the key's name, the SHA-256 hash of the key in hex, the time of its creation,
    and its limits. The key itself is not stored.
    """

    name: str
    sha256: str
    created: str
    limits: KeyLimits = KeyLimits()


MAX_BYTES: Final = 64 << 20
_KEYS: Final = JsonDecoder[list[StoredKey]](list[StoredKey])


class KeyFile:
    """File with the API keys of one data folder, as hashes with their limits."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[StoredKey]:
        """Return the keys of the file, none if it does not exist.

        Raises:
            KeyFileError: The file cannot be read, or is malformed.
        """
        try:
            return self.read_stored()
        except MissingKeyFileError:
            return []

    def read_stored(self) -> list[StoredKey]:
        """Return the keys of an existing file.

        Raises:
            MissingKeyFileError: The file does not exist.
            KeyFileError: The file cannot be read, or is malformed.
        """
        try:
            return _KEYS.decode(read_file(self.path, MAX_BYTES))
        except FileNotFoundError as error:
            raise MissingKeyFileError(f"{self.path}: {error.strerror}") from error
        except OSError as error:
            raise KeyFileError(f"{self.path}: {error.strerror or error}") from error
        except MalformedError as error:
            raise KeyFileError(f"{self.path}: {error}") from error

    def add(self, name: str, limits: KeyLimits | None = None) -> str:
        """Make a key, store its hash under `name`, and return the key itself.

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
        """Delete the key `name`.

        Raises:
            KeyFileError: No key has this name, or the file cannot be written.
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
        """Give a new file the owner and the mode of the replaced file, so that the same users can read it.

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
    """Keys of a file, as a server uses them."""

    def __init__(
        self,
        file: KeyFile,
        clock: Callable[[], float] = time.monotonic,
        rate_limiter_of: Callable[[str], RateLimiter | None] = lambda _digest: None,
    ) -> None:
        """Read the file; `rate_limiter_of` maps a key's hash to its rate limiter, None for one in this
        process alone.

        Raises:
            KeyFileError: The file cannot be read.
        """
        self._file = file
        self._uses_of = rate_limiter_of
        self._clock = clock
        self._in_use: dict[str, ApiKey] = {}
        self._unreadable: object = None
        """Stamp of the last file if that could not be read, else None."""
        self._told = -math.inf
        self._stamp = self._current_stamp()
        """Stamp of the file that was read last."""
        self._is_known = self._stamp != ABSENT
        """True if the file has ever existed; a file that disappears later revokes no key."""
        self._take_over(file.read())

    @property
    def is_empty(self) -> bool:
        """Return True if there is no key, so that every request is refused."""
        return not self._in_use

    def lookup(self, key: str) -> ApiKey | None:
        """Return the key, None if it is unknown, after reading the file if it has changed."""
        self.refresh()
        # A client could only measure the time of finding a hash, from which no key can be derived.
        return self._in_use.get(hash_of(key))

    def accounts(self) -> dict[str, KeyAccount]:
        """Return the accounts of the keys whose credits several machines count together.

        The mapping is by the SHA-256 hash of the key in hex, as in the file; other keys are not in it.
        """
        found = ((digest, grant.account) for digest, grant in self._in_use.items())
        return {digest: account for digest, account in found if account is not None}

    def refresh(self) -> None:
        """Read the file if it has changed; an unreadable file leaves the keys as they are."""
        stamp = self._current_stamp()
        if stamp != self._unreadable and (stamp != self._stamp or _is_recent(stamp)):
            self._read(stamp)

    def reload(self) -> None:
        """Read the file even if it has not changed; an unreadable file leaves the keys as they are."""
        self._told = -math.inf
        self._read(self._current_stamp())

    async def watch(self) -> None:
        """Follow changes of the file for ever, so that open connections are affected too.

        An unreadable file is read again each time, because its permissions may have changed.
        """
        while True:
            await trio.sleep(POLL_SECONDS)
            if self._unreadable is None:
                self.refresh()
            else:
                self._read(self._current_stamp())

    def _read(self, stamp: object) -> None:
        """Read and apply the file, whose stamp is `stamp`; log once a minute if it is unreadable."""
        try:
            keys = self._file.read_stored() if self._is_known else self._file.read()
        except KeyFileError as error:
            self._unreadable = stamp
            if (now := self._clock()) - self._told >= TELL_SECONDS:
                self._told = now
                logger.error(  # noqa: TRY400
                    "%s; the keys read before stay in force, also those revoked since: mend the file", error
                )
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
        """Return a value that differs after every change of the file, its owner or its mode."""
        try:
            status = self._file.path.stat()
        except FileNotFoundError:
            return ABSENT
        except OSError as error:
            return error.errno
        return status.st_ctime_ns, status.st_mtime_ns, status.st_ino, status.st_size


def _is_recent(stamp: object) -> bool:
    """Return True if the file may have changed again without a new stamp.

    The kernel's clock advances in steps of several milliseconds.
    """
    return isinstance(stamp, tuple) and 0 <= time.time_ns() - stamp[0] < TICK_NANOSECONDS


def hash_of(key: str) -> str:
    """Return the SHA-256 of a key in hex, its form in the file."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()
