"""A library that lets one write of the first pages of a store fail, for processes with `LD_PRELOAD`."""

import shutil
import subprocess
from pathlib import Path

ORDER = "WSNODE_TEST_FAILING_WRITE"
"""The variable for a file that names a folder: the next such write there fails, and removes the file."""
COMPILER = shutil.which("cc")
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_to_fail(int fd, off_t offset) {
  char link[64], path[4096], wanted[64] = "";
  const char *order = getenv("WSNODE_TEST_FAILING_WRITE");
  FILE *file = offset < 8192 && order ? fopen(order, "r") : NULL;
  if (!file) return 0;
  int found = fscanf(file, "%63s", wanted);
  fclose(file);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (found != 1 || length < 0) return 0;
  path[length] = 0;
  if (!strstr(path, wanted)) return 0;
  unlink(order);
  errno = EIO;
  return 1;
}

#define WRITE(name, offset_t)                                                       \
  ssize_t name(int fd, const void *bytes, size_t size, offset_t offset) {           \
    static ssize_t (*real)(int, const void *, size_t, offset_t);                    \
    if (!real) real = (ssize_t (*)(int, const void *, size_t, offset_t))dlsym(RTLD_NEXT, #name); \
    return is_to_fail(fd, offset) ? -1 : real(fd, bytes, size, offset);             \
  }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)
"""


def build_library(folder: Path) -> Path:
    """Compile the library into a folder, and return its path."""
    assert COMPILER is not None, "without a compiler the test is skipped"
    library = folder / "failing_writes.so"
    command = [COMPILER, "-x", "c", "-O1", "-shared", "-fPIC", "-o", str(library), "-", "-ldl"]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    return library
