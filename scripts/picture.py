"""Turns the output of `tmux capture-pane -e` on stdin into an SVG on stdout: picture.py TITLE
COLUMNS"""

import os
import re
import sys

from rich.console import Console
from rich.text import Text

title, columns = sys.argv[1], int(sys.argv[2])
with open(os.devnull, "w", encoding="utf-8") as nowhere:
    console = Console(
        record=True,
        width=columns,
        file=nowhere,
        force_terminal=True,
        color_system="256",
        legacy_windows=False,
    )
    for line in sys.stdin.read().rstrip("\n").split("\n"):
        console.print(Text.from_ansi(line), soft_wrap=True)
    svg = console.export_svg(title=title, unique_id=f"tmuxreap-{re.sub('[^a-z]', '-', title)}")
# No external font: viewing a picture must not contact anything.
print(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL), end="")
