"""Owns this machine: tmux, processes, files and locks, the environment, git, other terminals.

Decides nothing about sessions, and never takes an answer that it could not get for "no".

Doors: `files`, `environment`, `git`, `terminals` and, below `tmux`, `commands` and `sockets`. What
acts on tmux and on processes is known to `app` alone, which hands it out as the ports of `core`.
Main types: `RealTmux`, `RealProcesses`, `Settings`."""
