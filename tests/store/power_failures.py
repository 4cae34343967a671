"""A library that notes each write and sync of a store, and files as a power failure may leave them."""

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

NOTES = "WSNODE_TEST_NOTED_WRITES"
"""The variable for the file of notes."""
PAGE: Final = 4096
SYNCED_WRITE: Final = 1
SYNC: Final = 2
"""Kinds of notes; 0 is a write that is on the disk with the next sync of the file."""
_NOTE: Final = struct.Struct("<QQQ")
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

typedef ssize_t (*writev_t)(int, const struct iovec *, int);

static int is_store(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, "/chain/data.mdb") != NULL;
}

static void note(uint64_t kind, uint64_t offset, const struct iovec *parts, int count) {
  static writev_t real;
  if (!real) real = (writev_t)dlsym(RTLD_NEXT, "writev");
  struct iovec all[1024];
  uint64_t head[3] = {kind, offset, 0};
  for (int each = 0; each < count; each++) head[2] += (all[each + 1] = parts[each]).iov_len;
  all[0] = (struct iovec){head, sizeof head};
  int notes = open(getenv("WSNODE_TEST_NOTED_WRITES"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (notes < 0 || real(notes, all, count + 1) != (ssize_t)(sizeof head + head[2])) abort();
  close(notes);
}

static uint64_t kind_of(int fd) { return (fcntl(fd, F_GETFL) & O_DSYNC) ? 1 : 0; }

#define WRITE(name, offset_t)                                                                    \
  ssize_t name(int fd, const void *bytes, size_t size, offset_t offset) {                        \
    static ssize_t (*real)(int, const void *, size_t, offset_t);                                 \
    if (!real) real = (ssize_t (*)(int, const void *, size_t, offset_t))dlsym(RTLD_NEXT, #name); \
    struct iovec part = {(void *)bytes, size};                                                   \
    ssize_t done = real(fd, bytes, size, offset);                                                \
    if (is_store(fd)) note(kind_of(fd), offset, &part, 1);                                       \
    return done;                                                                                 \
  }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
  static writev_t real;
  if (!real) real = (writev_t)dlsym(RTLD_NEXT, "writev");
  off_t offset = is_store(fd) ? lseek(fd, 0, SEEK_CUR) : -1;
  ssize_t done = real(fd, parts, count);
  if (offset >= 0) note(kind_of(fd), offset, parts, count);
  return done;
}

#define SYNC(name)                                                    \
  int name(int fd) {                                                  \
    static int (*real)(int);                                          \
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, #name);          \
    int done = real(fd);                                              \
    if (is_store(fd)) note(2, 0, NULL, 0);                            \
    return done;                                                      \
  }
SYNC(fsync)
SYNC(fdatasync)
"""


class Note(NamedTuple):
    """Write or sync of a store, and the number of bytes of the notes up to its end."""

    kind: int
    offset: int
    content: bytes
    end: int


def build_noting_library(folder: Path) -> Path:
    """Compile the library into a folder, and return its path."""
    compiler = shutil.which("cc")
    assert compiler is not None, "without a compiler the test is skipped"
    library = folder / "noting_writes.so"
    command = [compiler, "-x", "c", "-O1", "-shared", "-fPIC", "-o", str(library), "-", "-ldl"]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    return library


def read_notes(content: bytes) -> Iterator[Note]:
    place = 0
    while place < len(content):
        kind, offset, size = _NOTE.unpack_from(content, place)
        place += _NOTE.size + size
        yield Note(kind, offset, content[place - size : place], place)


def left_on_disk(notes: list[Note], chance: Random) -> bytes:
    """Return a file that a power failure after these writes may leave.

    Of the pages that were not synced each may be on the disk or not.
    """
    file = bytearray()
    last = max((place for place, note in enumerate(notes) if note.kind == SYNC), default=-1)
    for place, note in enumerate(notes):
        for start in range(0, len(note.content), PAGE):
            if place < last or note.kind == SYNCED_WRITE or chance.random() < 0.5:
                page, at = note.content[start : start + PAGE], note.offset + start
                file.extend(bytes(max(0, at + len(page) - len(file))))
                file[at : at + len(page)] = page
    return bytes(file)
