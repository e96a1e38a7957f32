"""Which tests run in one worker, one after the other: those that share what is dear to make.

pytest-xdist has a marker for this; it says nothing to pytest from 9.2 on, whose tests keep their
names."""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

SHARED = (
    re.compile(r"tests/live/(test_zoo)\.py::.*\[(stop-rows-of-others|stop|kill)[-\]]"),  # a zoo
)


class Together(LoadScopeScheduling):
    """All others by themselves, to whoever is free."""

    def _split_scope(self, nodeid: str) -> str:
        found = next(filter(None, (one.match(nodeid) for one in SHARED)), None)
        return " ".join(found.groups()) if found else nodeid
