"""What the server tells a client about itself."""

from __future__ import annotations

import re

from tmuxreap.interfaces.mcp.server import INSTRUCTIONS
from tmuxreap.interfaces.mcp.tools import TOOLS


def test_the_instructions_name_tools_that_are_there() -> None:
    named = set(re.findall(r"\b[a-z]+_sessions?\b", INSTRUCTIONS))
    assert named <= set(TOOLS)
    assert len(INSTRUCTIONS) < 1000
