#!/usr/bin/env bash
# Builds the wheel for this machine, and the source distribution, into a folder.
#
#   deploy/wheels.sh FOLDER            the wheel runs where glibc is as new as here
#   deploy/wheels.sh --zig FOLDER      on every Linux with glibc 2.17 (manylinux2014), linked by zig from PyPI
#
# TARGET names another machine, such as aarch64-unknown-linux-gnu; it needs --zig and `rustup target add`.
# One wheel serves all versions of Python from 3.11 on (abi3).
set -euo pipefail

zig=()
if [ "${1:-}" = --zig ]; then
  zig=(--zig --compatibility manylinux2014)
  shift
fi
if [ $# != 1 ]; then
  echo "usage: deploy/wheels.sh [--zig] FOLDER" >&2
  exit 2
fi
mkdir -p "$1"
folder="$(cd "$1" && pwd)"
cd "$(dirname "$0")/.."

# The wheel is for the interpreter that runs this.
interpreter=()
if [ ${#zig[@]} = 0 ]; then
  interpreter=(--interpreter "$(command -v python3)")
fi
tools="$(mktemp -d)"
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet "maturin${zig:+[zig]}>=1.10,<2"
# maturin finds zig beside itself.
export PATH="$tools/bin:$PATH"

. deploy/rustflags

maturin build --release --locked --out "$folder" ${TARGET:+--target "$TARGET"} "${zig[@]}" "${interpreter[@]}"
maturin sdist --out "$folder"

for wheel in "$folder"/*.whl; do
  "$tools/bin/python" -c 'import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
paths = [path.encode() for path in sys.argv[2:]]
held = [name for name in archive.namelist() if any(path in archive.read(name) for path in paths)]
if held:
    sys.exit("paths of this machine are in " + ", ".join(held))' "$wheel" "$crates" "$PWD/wsnode"
done
