"""Builds the wheel with the standard library alone (PEP 517), so that a build downloads nothing, and its bytes are always the same.

`python3 build_backend.py FOLDER` builds it into a folder; pip and other front ends call `build_wheel`.
"""
import base64
import hashlib
import os
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent
PACKAGE = "outbound_messaging"


def _field(name):
    found = re.search(rf'^{name} = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    if not found:
        raise ValueError(f"pyproject.toml has no {name}: add it to [project].")
    return found[1]


def _metadata():
    return "\n".join(
        [
            "Metadata-Version: 2.1",
            f"Name: {_field('name')}",
            f"Version: {_field('version')}",
            f"Summary: {_field('description')}",
            "License: MIT",
            f"Project-URL: Repository, {_field('Repository')}",
            f"Requires-Python: {_field('requires-python')}",
            "Classifier: Typing :: Typed",
            "Description-Content-Type: text/markdown",
            "",
            (ROOT / "README.md").read_text("utf-8"),
        ]
    )


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel. It returns its name."""
    release = f"{_field('name').replace('-', '_')}-{_field('version')}"
    about = f"{release}.dist-info"
    sources = sorted(path for path in (ROOT / PACKAGE).iterdir() if path.is_file())
    files = {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sources}
    files[f"{about}/METADATA"] = _metadata().encode()
    files[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: build_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{about}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{about}/RECORD"] = _record(files, f"{about}/RECORD")
    name = f"{release}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(_entry(path), content)
    return name


def _record(files, own):
    digests = {
        path: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        for path, content in files.items()
    }
    rows = [f"{path},sha256={digests[path]},{len(content)}" for path, content in files.items()]
    return "\n".join([*rows, f"{own},,", ""]).encode()


def _entry(path):
    entry = zipfile.ZipInfo(path)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def build_sdist(sdist_directory, config_settings=None):
    """A release has no source archive: the repository is the source."""
    raise NotImplementedError("Build a wheel: python3 build_backend.py FOLDER")


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
