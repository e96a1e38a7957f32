"""Runs the demo agent under the module name that rows have in their `start_command`."""

import sys

from tmuxreap.agents.demo import main

if __name__ == "__main__":
    sys.exit(main())
