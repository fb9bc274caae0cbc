"""This tool's own version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def tool_version() -> str:
    """The installed version; `checkout` where the tool runs from its source without being installed."""
    try:
        return version("cosyvoice-batch")
    except PackageNotFoundError:
        return "checkout"


def library_version(package: str) -> str:
    """The installed version of a library."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
