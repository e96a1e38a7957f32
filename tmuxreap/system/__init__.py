"""Owns this machine: tmux, processes, files and locks, the environment, git, other terminals.

Never decides anything about sessions, and never takes a failed query for the answer "no".

Doors: `environment` and `whereabouts` (the caller's, and this program run again), `files`, `lock`
(of a registry), `own_files` (the user's small ones), `timed_masks`, `git`, `terminals` (kitty,
WezTerm), `headless` (sessions without a terminal), `machine` (control groups, signals), `programs`
(others, to their end), `asking` (servers on this machine); of tmux `tmux.sockets` and
`tmux.versions`, of processes `processes.procfs`. Only `app` imports what acts on tmux and on
processes, and passes it on as the ports of `core`. Main types: `Settings`, `Content` (of a file),
`RealTmux`, `LinuxProcesses`."""
