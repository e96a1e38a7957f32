"""A registry with good and bad rows, and tests with both YAML loaders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.registry_text import ROWS
from tmuxreap.registry.file import RegistryFile
from tmuxreap.registry.yaml import parse as yamlparse


@pytest.fixture(params=["C", "pure"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the test once with libyaml and once without."""
    chosen = (
        yaml.SafeLoader
        if request.param == "pure"
        else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    monkeypatch.setattr(yamlparse, "LOADER", chosen)
    yield


@pytest.fixture
def registry(tmp_path: Path) -> RegistryFile:
    path = tmp_path / "rows.yaml"
    path.write_text(ROWS)
    return RegistryFile(path)
