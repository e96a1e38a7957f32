"""The only module that reads the environment: who calls, from where, and which registry is
meant."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen
from tmuxreap.system.whereabouts import REGISTRY, nearest_registry, tmux_server_of

# What `start` puts into the environment of a session: its own mark, its registry, and from within
# whom it was started.
MARK, REGISTRY_MARK, PARENT = "TMUXREAP_ID", "TMUXREAP_REGISTRY", "TMUXREAP_PARENT"
# Each default that a variable can set, over config.yaml and under the flag.
DEFAULTS = {
    "server": "TMUXREAP_SERVER",
    "reason": "TMUXREAP_REASON",
    "grace": "TMUXREAP_GRACE",
    "reap.stalled_after": "TMUXREAP_REAP_STALLED_AFTER",
    "reap.idle_after": "TMUXREAP_REAP_IDLE_AFTER",
    "reap.grace": "TMUXREAP_REAP_GRACE",
    "cleanup": "TMUXREAP_CLEANUP",
    "retention": "TMUXREAP_RETENTION",
}


@frozen
class Settings:
    environ: Mapping[str, str]
    cwd: Path
    uid: int
    pid: int
    platform: str
    homeless: bool = (
        False  # the working directory was deleted: only what is named by its full path is found
    )

    @classmethod
    def from_environment(cls) -> Settings:
        cwd = _working_directory()
        return cls(
            environ=dict(os.environ),
            cwd=cwd or Path("/"),
            uid=os.getuid(),
            pid=os.getpid(),
            platform=sys.platform,
            homeless=cwd is None,
        )

    @property
    def fault(self) -> str:
        return self.environ.get("TMUXREAP_FAULT", "")

    @property
    def home(self) -> Path | None:
        home = self.environ.get("HOME")
        return Path(home) if home else None

    @property
    def at_home(self) -> bool:
        return self.home is not None and os.path.realpath(self.home) == os.path.realpath(self.cwd)

    @property
    def user_profiles(self) -> Path | None:
        """The user's own agents, merged over ours."""
        return self._config("agents.yaml")

    @property
    def config_path(self) -> Path | None:
        """Where the user's own defaults are read from, there or not."""
        return self._config("config.yaml")

    @property
    def config_file(self) -> Path | None:
        """The same where it is there."""
        path = self.config_path
        return path if path is not None and os.path.lexists(path) else None

    @property
    def configured(self) -> bool:
        """Whether there is a default of the user's: one look at the folder, and nothing is read."""
        return self.config_file is not None or any(
            self.environ.get(name) for name in DEFAULTS.values()
        )

    def _config(self, name: str) -> Path | None:
        config = self.environ.get("XDG_CONFIG_HOME")
        folder = Path(config) if config else self.home and self.home / ".config"
        return folder / "tmuxreap" / name if folder else None

    @property
    def no_color(self) -> bool:
        return bool(self.environ.get("NO_COLOR"))

    @property
    def tmux_socket(self) -> str | None:
        """Of the server that we run in."""
        return tmux_server_of(self.environ)[0] or None

    @property
    def mark(self) -> str | None:
        """Set when the caller runs inside a session that `start` made."""
        return self.environ.get(MARK) or None

    @property
    def caller(self) -> str:
        """Within whom we are called: the mark of that session, else the pane that we stand in, else
        nothing."""
        return self.mark or self.pane

    @property
    def pane(self) -> str:
        """The pane that we stand in, in one word; empty outside of tmux."""
        server, pane = tmux_server_of(self.environ)[1], self.environ.get("TMUX_PANE")
        return pane_word(server, pane) if server and pane else ""


def pane_word(server_pid: object, pane: str) -> str:
    """A pane in one word."""
    return f"{server_pid}:{pane}"


def _working_directory() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def registry_path(settings: Settings, given: str | None) -> Path:
    """`--registry`, else $TMUXREAP_REGISTRY, else the nearest one upwards that may be trusted."""
    _refuse_empty(given)
    path = given or settings.environ.get(REGISTRY_MARK)
    if path:
        return _named(settings, path, "--registry" if given else "$TMUXREAP_REGISTRY")
    if settings.homeless:
        raise Failure(
            Code.REGISTRY_NOT_FOUND,
            "could not find a registry: the working directory was deleted",
            "change to a folder that exists, or pass --registry PATH",
        )
    found = _nearest(settings)
    if found is None:
        raise Failure(
            Code.REGISTRY_NOT_FOUND,
            f"could not find a registry: no {REGISTRY} in {settings.cwd} or above it",
            "make one with: tmuxreap start NAME --agent AGENT, or point to one with --registry"
            " PATH",
        )
    return found


def registry_or_new(settings: Settings, given: str | None) -> Path:
    """For `start` and `adopt`, which make a registry here when none is found; what was named stays
    named."""
    _refuse_empty(given)
    if given:
        return Path(settings.cwd, os.path.expanduser(given))  # noqa: PTH111 - pathlib's fails on unknown users
    try:
        return registry_path(settings, None)
    except Failure as failure:
        if failure.code is not Code.REGISTRY_NOT_FOUND or settings.homeless:
            raise
        named = settings.environ.get(REGISTRY_MARK)
        if not named:
            _refuse_home(settings)
        return Path(settings.cwd, named) if named else settings.cwd / REGISTRY


def _refuse_home(settings: Settings) -> None:
    """Every project below it would use that one."""
    if settings.at_home:
        raise Failure(
            Code.REGISTRY_NOT_FOUND,
            f"could not make a registry in {settings.cwd}: every project in your home folder would"
            " use it",
            f"change to the project's folder, or name it: --registry {settings.cwd / REGISTRY}",
        )


def _refuse_empty(given: str | None) -> None:
    """An unset variable of a script must not mean whatever registry is nearest."""
    if given == "":
        raise Failure(
            Code.USAGE,
            "could not find a registry: --registry was given an empty path",
            "name the file",
        )


def _named(settings: Settings, path: str, how: str) -> Path:
    registry = Path(settings.cwd, os.path.expanduser(path))  # noqa: PTH111 - pathlib's fails on unknown users
    if not os.path.lexists(registry):
        raise Failure(
            Code.REGISTRY_NOT_FOUND,
            f"could not find the registry {registry}: there is no such file ({how})",
            "check the path, or make one with: tmuxreap start NAME --agent AGENT",
        )
    return registry


def _nearest(settings: Settings) -> Path | None:
    registry, strangers = nearest_registry(str(settings.cwd), settings.uid)
    if registry is None:
        return None
    _refuse_strangers(Path(registry), strangers)
    return Path(registry)


def _refuse_strangers(registry: Path, strangers: Collection[int]) -> None:
    if strangers:
        who = ", ".join(str(uid) for uid in sorted(strangers))
        raise Failure(
            Code.REGISTRY_UNTRUSTED,
            f"could not use the registry {registry}: it, or its folder, belongs to another user"
            f" (uid {who})",
            f"if you trust it, name it: --registry {registry}",
        )
