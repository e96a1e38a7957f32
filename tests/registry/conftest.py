"""Runs tests with both YAML loaders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

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
