"""Where the program begins, and the one boundary at which errors end."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import sys
import time
from importlib import import_module

from tmuxreap import __version__
from tmuxreap.core.errors import Code, Exit, Failure, Unheard, interrupted

OUT = ("stdout", "stderr")
STARVED = (errno.EMFILE, errno.ENFILE)
# Words that answer before a command line is built, and the module whose `main` does it.
QUICK = {
    "hook": "tmuxreap.interfaces.hook.answer",
    "heartbeat": "tmuxreap.interfaces.hook.answer",
    "_complete": "tmuxreap.interfaces.completion.answer",
    "_keep": "tmuxreap.system.headless",
}
YOUNG_OBJECTS = 200_000  # a start makes fewer: nothing is searched for garbage, a tenth of its time
LASTING = {"watch", "mcp", "popup", "wait", "events"}  # what they drop must not wait for so many


def run() -> None:
    """The program. It leaves at once when all is said: to take an interpreter down lasts as long as
    a tmux call."""
    gc.set_threshold(YOUNG_OBJECTS // 20 if {*sys.argv[1:2]} & LASTING else YOUNG_OBJECTS)
    status = main()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(status)


def main(argv: list[str] | None = None) -> int:
    words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    _mend_streams()
    try:
        return _run(words)
    except Unheard as error:
        # Whoever read has gone, or the disk is full; Python would say so once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:
            print(f"error: could not write the answer: {error.strerror}", file=sys.stderr)
        return int(Exit.FAILED)
    finally:
        _let_go_of_talk()


def _let_go_of_talk() -> None:
    """What nobody could be told must not become the exit status: Python tries once more at its
    end."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _mend_streams() -> None:
    """A caller may have closed them, and no file of ours may take their numbers; and no name may
    stop an answer."""
    for name, mode, errors in (
        ("stdin", "r", "surrogateescape"),
        *((out, "w", "backslashreplace") for out in OUT),
    ):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - for as long as we run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _quickly(words: list[str]) -> int | None:
    """None where a command line is needed after all."""
    if words == ["--version"]:
        print(f"tmuxreap {__version__}")
        return 0
    quick = QUICK.get(words[0])
    # There it is a word of the line to be completed.
    asked = words[0] != "_complete" and not {"--help", "-h"}.isdisjoint(words)
    if quick is None or asked:
        return None
    status: int | None = import_module(quick).main(words)
    return status


def _run(words: list[str]) -> int:
    try:
        status = _quickly(words)
        if status is None:
            status = import_module("tmuxreap.interfaces.cli.main").main(words)
        _flush()
        return status
    except Failure as failure:
        return _told(words, failure)
    except KeyboardInterrupt:
        return _told(words, interrupted())
    except Unheard:
        raise
    except OSError as error:
        return _told(words, _starved()) if error.errno in STARVED else _bug(words, error)
    except Exception as error:  # noqa: BLE001 - the boundary
        if type(error).__name__ == "Abort":
            return _told(words, interrupted())
        if hasattr(error, "format_message"):  # a usage error of the command line
            return _told(words, import_module("tmuxreap.interfaces.cli.words").usage(words, error))
        return _bug(words, error)


def _starved() -> Failure:
    """Nothing was seen of the world, or not all of it: unknown, not a bug."""
    reason = "could not go on: this process may open no more files"
    return Failure(Code.TMUX_UNREACHABLE, reason, "raise its limit with: ulimit -n 1024")


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError as error:
        raise Unheard(error.errno, error.strerror) from None


def _told(words: list[str], failure: Failure) -> int:
    from tmuxreap.core.results import Result
    from tmuxreap.core.text import Voice
    from tmuxreap.interfaces.text.report import report

    verb = next((word for word in words if not word.startswith("-")), "")
    report(Result(verb, None, time.time(), failure=failure), Voice(json="--json" in words))
    return int(failure.code.exit)


def _bug(words: list[str], error: Exception) -> int:
    import traceback

    traceback.print_exception(error)
    message = f"could not go on: {type(error).__name__}: {error}"
    return _told(
        words, Failure(Code.BUG, message, "this is a bug: please report it with the lines above")
    )


if __name__ == "__main__":
    run()
