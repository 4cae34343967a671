"""Certificates that sign themselves, for servers and clients of one test."""

import shutil
import subprocess
from pathlib import Path

import pytest


def make_certificate(
    folder: Path, names: str = "DNS:localhost", *, passphrase: str | None = None
) -> tuple[Path, Path]:
    """Return the files of a certificate and its key in a folder, which may have to be made."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder.mkdir(exist_ok=True)
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    locked = ("-nodes",) if passphrase is None else ("-passout", f"pass:{passphrase}")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN=localhost"
    files = ("-out", str(certificate), "-keyout", str(key))
    named = ("-addext", f"subjectAltName={names}")
    subprocess.run([*command.split(), *locked, *named, *files], check=True, capture_output=True)
    return certificate, key
