"""A library that lets one write to a store fail, for processes with `LD_PRELOAD`."""

import shutil
import subprocess
from pathlib import Path
from typing import Final, Literal

import pytest

ORDER = "WSNODE_TEST_FAILING_WRITE"
"""The variable for a file with an order: the next such write fails, and removes the file."""
COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
Fault = Literal["EIO", "ENOSPC", "short"]
FAULTS: Final[tuple[Fault, ...]] = ("EIO", "ENOSPC", "short")
"""What becomes of a write: an error, or only half of it is written."""
Pages = Literal["first", "later"]
PAGES: Final[tuple[Pages, ...]] = ("first", "later")
"""Which pages are written: the first two, with which a commit ends, or those of the data."""
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char fault[16];

static int is_to_fail(int fd, int is_first) {
  char link[64], path[4096], wanted[256] = "", pages[16] = "";
  const char *order = getenv("WSNODE_TEST_FAILING_WRITE");
  FILE *file = order ? fopen(order, "r") : NULL;
  if (!file) return 0;
  int found = fscanf(file, "%255s %15s %15s", wanted, fault, pages);
  fclose(file);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (found != 3 || length < 0 || is_first != !strcmp(pages, "first")) return 0;
  path[length] = 0;
  if (!strstr(path, wanted)) return 0;
  unlink(order);
  errno = strcmp(fault, "ENOSPC") ? EIO : ENOSPC;
  return 1;
}

static int is_short(void) { return !strcmp(fault, "short"); }

#define WRITE(name, offset_t)                                                       \
  ssize_t name(int fd, const void *bytes, size_t size, offset_t offset) {           \
    static ssize_t (*real)(int, const void *, size_t, offset_t);                    \
    if (!real) real = (ssize_t (*)(int, const void *, size_t, offset_t))dlsym(RTLD_NEXT, #name); \
    if (!is_to_fail(fd, offset < 8192)) return real(fd, bytes, size, offset);       \
    return is_short() ? real(fd, bytes, size / 2, offset) : -1;                     \
  }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

/* Several pages of data, at the file's position. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
  static ssize_t (*real)(int, const struct iovec *, int);
  if (!real) real = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
  if (!is_to_fail(fd, 0)) return real(fd, parts, count);
  return is_short() ? write(fd, parts[0].iov_base, parts[0].iov_len / 2) : -1;
}
"""


def build_library(folder: Path) -> Path:
    """Compile the library into a folder, and return its path."""
    assert COMPILER is not None, "without a compiler the test is skipped"
    library = folder / "failing_writes.so"
    command = [COMPILER, "-x", "c", "-O1", "-shared", "-fPIC", "-o", str(library), "-", "-ldl"]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    return library


def order_failure(order: Path, file: str, fault: Fault = "EIO", pages: Pages = "first") -> None:
    """Let the next write to some pages of the file whose path has `file` in it fail."""
    draft = order.with_suffix(".draft")
    draft.write_text(f"{file} {fault} {pages}")
    draft.rename(order)
