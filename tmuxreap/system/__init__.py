"""Owns this machine: tmux, processes, files and locks, the environment, git, other terminals.

Decides nothing about sessions, and never takes an answer that it could not get for "no".

Doors: `environment` and `whereabouts` (what the caller's shell says), `files` and `lock_holders`,
`git`, `terminals` (kitty, WezTerm), `headless` (sessions without one), `control_groups`,
`interrupts`; of tmux `tmux.sockets` and `tmux.versions`, of processes `processes.procfs`. What acts
on tmux and on processes is known to `app` alone, which hands it out as the ports of `core`. Main
types: `Settings`, `Content` (of a file), `RealTmux`, `LinuxProcesses`."""
