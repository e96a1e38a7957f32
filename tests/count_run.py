"""Runs one command in this fresh process and writes down what it cost: modules, processes, files,
fsyncs.

    python tests/count_run.py OUT.json tmuxreap.__main__:main --version

With UNHURRIED the ladder's look never expires, and it waits longer between looks: otherwise a slow
machine looks more often.

Imports nothing beyond a bare start, so that only the command's own modules count. SQLite's writes
are not seen, only its opening."""

import sys

BARE = frozenset(sys.modules)
os = sys.modules["os"]

CHANGES = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "sqlite3.connect",
}
SPAWNS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"}

LADDER = "tmuxreap.ending.ladder."
UNHURRIED = {
    ("climb", "FRESH_S"): float("inf"),
    ("climb", "LOOK_AGAIN_S"): 0.5,
    ("requests", "LOOK_S"): 0.5,
}

processes: list[str] = []
written: list[str] = []
changes: list[str] = []
fsyncs: list[int] = []


def hook(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and writes(*args):
        written.append(str(args[0]))
    elif event in CHANGES:
        changes.append(f"{event} {args[0]}")
    elif event in SPAWNS and not told_already(event):
        processes.append(str(args[0]) if args else event)


def writes(path: object, mode: object, flags: object) -> bool:
    """Tell whether this opens a file for writing; a descriptor as path was counted before."""
    if isinstance(path, int) or path in ("/dev/null", b"/dev/null"):
        return False
    return bool(
        isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    )


def told_already(event: str) -> bool:
    """Tell whether `subprocess` spawned through `os`: one process, two events. Frames: this, the
    hook, the caller."""
    return (
        event != "subprocess.Popen" and sys._getframe(2).f_globals.get("__name__") == "subprocess"
    )


def count_calls_of(name: str) -> None:
    if not hasattr(os, name):  # macOS has no fdatasync
        return
    really = getattr(os, name)

    def counted(fd: int) -> None:
        fsyncs.append(fd)
        really(fd)

    setattr(os, name, counted)


def run(entry: str, words: list[str]) -> object:
    module, _, function = entry.partition(":")
    try:
        return getattr(__import__(module, fromlist=[function]), function)(words)
    except SystemExit as leaving:
        return leaving.code


def is_room(name: str) -> bool:
    """Tell whether the module is one of our folders: a docstring without code."""
    return name.startswith("tmuxreap.") and hasattr(sys.modules[name], "__path__")


def main(out: str, entry: str, *words: str) -> None:
    sys.dont_write_bytecode = True
    us = os.getpid()
    count_calls_of("fsync")
    count_calls_of("fdatasync")
    sys.addaudithook(hook)
    if "UNHURRIED" in os.environ:
        for (module, name), seconds in UNHURRIED.items():
            setattr(__import__(LADDER + module, fromlist=[name]), name, seconds)
    status = run(entry, list(words))
    if os.getpid() != us:  # a forked child does not count
        os._exit(0)
    counts = {
        "exit": status,
        "modules": sorted(name for name in sys.modules.keys() - BARE if not is_room(name)),
        "processes": list(processes),
        "written": list(written),
        "changes": list(changes),
        "fsyncs": len(fsyncs),
    }
    import json

    with open(out, "w", encoding="utf-8") as file:
        json.dump(counts, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
