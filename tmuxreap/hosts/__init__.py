"""Owns the way to other hosts: which ones there are, the engines that reach them (OpenSSH, or any
command of the user's), one conversation with the tmuxreap that runs there, and what the answers of
many come to.

Never ends a session itself and never believes a host: what one answers is checked, and is text
until it was made plain. No verb is ever sent twice.

Doors: all modules. Main types: `Host`, `Hosts` (what hosts.yaml says), `Request` and `Heard` (what
is asked there, and what came back)."""
