"""The minimum that a Python program must do to stop and record a session: two tmux clients, one
wait, one atomic write. No proof, no conversation, no lock, no check: nothing reliable."""

import os
import select
import subprocess
import sys

REGISTRY = ".hermes/agent-sessions.yaml"


def main(names: list[str]) -> None:
    told = subprocess.run(
        ["tmux", "list-panes", "-a", "-F", "#{session_name} #{pane_pid}"], stdout=subprocess.PIPE
    )
    pids = dict(line.split() for line in told.stdout.decode().splitlines())
    waited = {os.pidfd_open(int(pids[name])) for name in names}
    keys = "".join(f"send-keys -t ={name}: q\n" for name in names)
    subprocess.run(["tmux", "source-file", "-"], input=keys.encode())
    poll = select.poll()
    for pidfd in waited:
        poll.register(pidfd, select.POLLIN)
    while waited:
        for pidfd, _ in poll.poll():
            poll.unregister(pidfd)
            waited.discard(pidfd)
    with open(REGISTRY) as file:
        text = file.read()
    for name in names:
        at = text.index("status: running", text.index(f"- name: {name}\n"))
        text = text[:at] + "status: stopped" + text[at + len("status: running") :]
    with open(REGISTRY + ".new", "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(REGISTRY + ".new", REGISTRY)


main(sys.argv[1:])
