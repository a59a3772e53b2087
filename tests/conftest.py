"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Clients of the hub read this once, when they are imported; tests that want to be offline say so to their child processes.
os.environ.pop("HF_HUB_OFFLINE", None)

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the checkout; the test is skipped where it is absent."""
    if not (SHARED / "hub").is_dir():
        pytest.skip(f"needs the project's data folder {SHARED}, which is not part of a clone")
    return SHARED
