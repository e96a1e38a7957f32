"""Where the program begins, and the one boundary at which errors end."""

from __future__ import annotations

import os
import sys
import time

from tmuxreap.errors import Code, Exit, Failure


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    try:
        return _run(words)
    except BrokenPipeError:
        # Whoever read has gone; Python would say so once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.FAILED)


def _run(words: list[str]) -> int:
    try:
        from tmuxreap import cli

        status = cli.main(words)
        sys.stdout.flush()
        return status
    except Failure as failure:
        return _told(words, failure)
    except KeyboardInterrupt:
        return _told(words, interrupted())
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary
        if type(error).__name__ == "Abort":
            return _told(words, interrupted())
        if hasattr(error, "format_message"):  # a usage error of the command line
            return _told(words, Failure(Code.USAGE, f"could not read the command: {error.format_message()}", USAGE))
        return _bug(words, error)


USAGE = "see: tmuxreap --help, or tmuxreap VERB --help"


def interrupted() -> Failure:
    return Failure(
        Code.INTERRUPTED, "could not finish: interrupted", "what was under way is finished by: tmuxreap reconcile"
    )


def _told(words: list[str], failure: Failure) -> int:
    from tmuxreap.report import Voice, report
    from tmuxreap.results import Result

    verb = next((word for word in words if not word.startswith("-")), "")
    report(Result(verb, None, time.time(), failure=failure), Voice(json="--json" in words))
    return int(failure.code.exit)


def _bug(words: list[str], error: Exception) -> int:
    import traceback

    traceback.print_exception(error)
    message = f"could not go on: {type(error).__name__}: {error}"
    return _told(words, Failure(Code.BUG, message, "this is a bug: please report it with the lines above"))


if __name__ == "__main__":
    sys.exit(main())
