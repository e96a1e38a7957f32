"""The program's entry point, and the last boundary where errors are caught; those of a verb become
its answer before (`interfaces/cli/boundary.py`)."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import sys
import time
from importlib import import_module

if not __package__:  # run by the path of this file, see `own_command`
    _here = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120
    _root = os.path.dirname(_here)  # noqa: PTH120
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) != _here]
    if _root not in sys.path:  # else where it is: behind the modules of Python itself
        sys.path.insert(0, _root)

from tmuxreap import __version__
from tmuxreap.core.errors import Code, Exit, Failure, OutputLost, interrupted, printing

OUT = ("stdout", "stderr")
OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
# Commands answered before a command line is built, each with the module whose `main` answers.
QUICK = {
    "hook": "tmuxreap.interfaces.hook.answer",
    "heartbeat": "tmuxreap.interfaces.hook.answer",
    "_keep": "tmuxreap.system.headless",
}
# More than one run allocates, also over 10,000 rows: no garbage collection, 10 % less time. Verbs
# that run for hours set it back.
YOUNG_OBJECTS = 500_000


def run() -> None:
    """Run the program and exit without interpreter shutdown, which takes as long as a tmux call."""
    gc.set_threshold(YOUNG_OBJECTS)
    if not QUICK.keys() & {*sys.argv[1:2]}:
        _expect_children()
    status = main()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(status)


def _expect_children() -> None:
    """Undo an ignored SIGCHLD: supervisors and `trap '' CHLD` leave it so, and no exit status would
    be told."""
    import signal

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def main(argv: list[str] | None = None) -> int:
    words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    _repair_streams()
    try:
        return _run(words)
    except OutputLost as error:
        # The reader is gone or the disk is full; Python would report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:
            print(f"error: could not write the answer: {error.strerror}", file=sys.stderr)
        return int(Exit.FAILED)
    finally:
        _flush_stderr()


def _flush_stderr() -> None:
    """Flush stderr; drop what cannot be written, or Python's flush at exit would change the exit
    status."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _repair_streams() -> None:
    """Reopen closed standard streams, so that no file of ours takes their descriptors, and make
    names that cannot be encoded printable."""
    for name, mode, errors in (
        ("stdin", "r", "surrogateescape"),
        *((out, "w", "backslashreplace") for out in OUT),
    ):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - for as long as we run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _answer_quick_command(words: list[str]) -> int | None:
    """Answer without a command line; return None where one is needed."""
    if words == ["--version"]:
        print(f"tmuxreap {__version__}")
        return 0
    quick = QUICK.get(words[0])
    if quick is None or not {"--help", "-h"}.isdisjoint(words):
        return None
    status: int | None = import_module(quick).main(words)
    return status


def _run(words: list[str]) -> int:
    try:
        status = _answer_quick_command(words)
        if status is None:
            status = import_module("tmuxreap.interfaces.cli.main").main(words)
        with printing():
            sys.stdout.flush()
        return status
    except OutputLost:
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the boundary
        return _report_failure(words, _failure_of(words, error))


def _failure_of(words: list[str], error: BaseException) -> Failure:
    if isinstance(error, Failure):
        return error
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return interrupted()
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE or _prints_text_only(words):
            raise OutputLost(error.errno, error.strerror) from None
        if error.errno in OUT_OF_DESCRIPTORS:
            # The look at the world failed or is incomplete: the state is unknown, which is no bug.
            reason = "could not continue: this process may open no more files"
            return Failure(Code.TMUX_UNREACHABLE, reason, "raise its limit with: ulimit -n 1024")
    if hasattr(error, "format_message"):  # a usage error of the command line
        from tmuxreap.interfaces.cli.main import usage

        return usage(words, error)
    import traceback

    traceback.print_exception(error)
    reason = f"could not continue: {type(error).__name__}: {error}"
    return Failure(Code.BUG, reason, "this is a bug: please report it with the lines above")


def _prints_text_only(words: list[str]) -> bool:
    """Tell whether the words ask for a text that is written to stdout as it is."""
    from tmuxreap.interfaces.cli.main import own_words

    ours = own_words(words)
    return ours[:1] in (["help"], ["schema"]) or not {"--help", "-h"}.isdisjoint(ours)


def _report_failure(words: list[str], failure: Failure) -> int:
    from tmuxreap.core.results import Result
    from tmuxreap.core.text import Style
    from tmuxreap.interfaces.cli.main import verb_of
    from tmuxreap.interfaces.text.report import report

    result = Result(verb_of(words), None, time.time(), failure=failure)
    report(result, Style(json="--json" in words))
    return int(failure.code.exit)


if __name__ == "__main__":
    run()
