"""Owns the access to other hosts: hosts.yaml, the engines that reach them (OpenSSH, or any command
of the user's), the conversation with a remote tmuxreap, and merging the answers of many hosts.

Never ends a session itself and never trusts a host: answers are validated, and escaped before they
are printed. Never sends a verb twice.

Doors: all modules. Main types: `Host`, `Hosts` (the content of hosts.yaml), `WireRequest`,
`Reply`."""
