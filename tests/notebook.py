"""The notebook recipe of docs/python.md in a real Jupyter kernel: python -m tests.notebook PYTHON

PYTHON has tmuxreap, nbclient and ipykernel. Exit 1 when the cell says anything else than it should.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROW = "tmux_sessions:\n  - {name: shop, status: running, agent: demo, pane: {pid: 4194305}}\n"
RUN = """
import sys, nbformat, nbclient
cell = nbformat.v4.new_code_cell(sys.stdin.read())
book = nbformat.v4.new_notebook(cells=[cell])
nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
print("".join(one.get("text", "") for one in cell.outputs), end="")
"""


def main(python: str) -> int:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (cell,) = re.findall(r"^```python\n([^`]*?\bawait [^`]*?)^```", page, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        registry = Path(folder, ".hermes", "agent-sessions.yaml")
        registry.parent.mkdir()
        registry.write_text(ROW)
        told = subprocess.run(
            [python, "-c", RUN],
            input=cell,
            cwd=folder,
            env={**os.environ, "HOME": folder, "TMUX_TMPDIR": folder, "TMUX": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        row = registry.read_text()
    print(told.stdout or told.stderr, end="")
    return int(told.stdout.split()[:1] != ["stopped"] or "status: running" in row)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
