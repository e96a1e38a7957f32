"""Reads the environment: the caller, its folder, and the registry to use. No other module does, but
the hook's, which imports next to nothing. Never reads a registry."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.defaults import VARIABLES
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import frozen
from tmuxreap.system.whereabouts import REGISTRY, nearest_registry, tmux_server_of

if TYPE_CHECKING:
    import pwd

# What `start` puts into a session's environment: its mark, its registry, and the caller (the mark
# or pane) that started it.
MARK = "TMUXREAP_ID"
REGISTRY_MARK = "TMUXREAP_REGISTRY"
PARENT = "TMUXREAP_PARENT"
MAKE_ONE = "create one with: tmuxreap start NAME --agent AGENT"
IN_PROJECT = "change to the project's folder; " + MAKE_ONE
FOLDERS_OF_MANY = ("/home", "/Users", "/srv")


@frozen
class Settings:
    environ: Mapping[str, str]
    cwd: Path
    uid: int
    pid: int
    platform: str
    cwd_deleted: bool = False  # the working directory was deleted: only absolute paths can be used

    @classmethod
    def from_environment(cls) -> Settings:
        cwd = _working_directory()
        return cls(
            environ=dict(os.environ),
            cwd=cwd or Path("/"),
            uid=os.getuid(),
            pid=os.getpid(),
            platform=sys.platform,
            cwd_deleted=cwd is None,
        )

    @property
    def fault(self) -> str:
        return self.environ.get("TMUXREAP_FAULT", "")

    @property
    def home(self) -> Path | None:
        home = self.environ.get("HOME")
        return Path(home) if home else None

    @property
    def shared_by(self) -> str | None:
        """Who else would use a registry in the working directory, as every folder below that has
        none of its own uses it; None if it is a folder for one project."""
        here = os.path.realpath(self.cwd)
        if self.home is not None and here == os.path.realpath(self.home):
            return "every project in your home folder"
        homes = {os.path.realpath(user.pw_dir) for user in _users()}
        if here == "/" or here in FOLDERS_OF_MANY or here in map(os.path.dirname, homes):
            return "every project of every user below it"
        if here in homes:
            return "every project in that home folder"
        sticky = not self.cwd_deleted and self.cwd.stat().st_mode & stat.S_ISVTX
        if sticky:
            return "every user of this shared folder"
        return None

    @property
    def user_profiles(self) -> Path | None:
        """The file of the user's own profiles, merged over the built-in ones."""
        return self._config("agents.yaml")

    @property
    def config_path(self) -> Path | None:
        """The file that the user's defaults are read from, whether it exists or not."""
        return self._config("config.yaml")

    @property
    def state_folder(self) -> Path | None:
        """The folder where programs keep what they remember for the user."""
        given = self.environ.get("XDG_STATE_HOME", "")
        if given.startswith("/"):
            return Path(given)
        return self.home / ".local" / "state" if self.home else None

    @property
    def config_file(self) -> Path | None:
        """`config_path` if it exists."""
        path = self.config_path
        if path is not None and os.path.lexists(path):
            return path
        return None

    @property
    def configured(self) -> bool:
        """Whether the user may have set a default; only checks that the file exists."""
        return self.config_file is not None or any(
            self.environ.get(name) for name in VARIABLES.values()
        )

    def _config(self, name: str) -> Path | None:
        config = self.environ.get("XDG_CONFIG_HOME")
        if config:
            return Path(config) / "tmuxreap" / name
        if self.home:
            return self.home / ".config" / "tmuxreap" / name
        return None

    @property
    def no_color(self) -> bool:
        return bool(self.environ.get("NO_COLOR")) or self.is_dumb

    @property
    def is_dumb(self) -> bool:
        """Tell whether the terminal obeys no control sequences."""
        return self.environ.get("TERM") == "dumb"

    @property
    def tmux_socket(self) -> str | None:
        """The socket of the tmux server that we run in."""
        return tmux_server_of(self.environ)[0] or None

    @property
    def mark(self) -> str | None:
        """The mark of the session that we run in, if `start` created it."""
        return self.environ.get(MARK) or None

    @property
    def caller(self) -> str:
        """The session that we are called from: its mark, else our pane, else empty."""
        return self.mark or self.pane

    @property
    def pane(self) -> str:
        """The pane that we run in, in one word; empty outside of tmux."""
        server = tmux_server_of(self.environ)[1]
        pane = self.environ.get("TMUX_PANE")
        return pane_word(server, pane) if server and pane else ""


def pane_word(server_pid: object, pane: str) -> str:
    """Return one word that identifies a pane across servers."""
    return f"{server_pid}:{pane}"


def _users() -> list[pwd.struct_passwd]:
    import pwd  # late: only who makes a registry, or finds none, asks

    return pwd.getpwall()


def _working_directory() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def registry_path(settings: Settings, given: str | None) -> Path:
    """Return `--registry`, else $TMUXREAP_REGISTRY, else the nearest trusted one upwards."""
    _refuse_empty(given)
    path = given or settings.environ.get(REGISTRY_MARK)
    if not path:
        return _nearest(settings)
    registry = _named(settings, path)
    if not os.path.lexists(registry):
        source = "--registry" if given else "$TMUXREAP_REGISTRY"
        reason = f"could not find the registry {registry}: there is no such file ({source})"
        raise Failure(Code.REGISTRY_NOT_FOUND, reason, f"check the path, or {MAKE_ONE}")
    return registry


def registry_or_new(settings: Settings, given: str | None, *, makes: bool = True) -> Path:
    """Return the registry for `start` and `adopt`, which create one in the working directory if
    none is found, or at the path that was named. `makes`: it will be created, so that the folder
    has to be fit for one."""
    _refuse_empty(given)
    if given:
        return _named(settings, given)
    try:
        return registry_path(settings, None)
    except Failure as failure:
        if failure.code is not Code.REGISTRY_NOT_FOUND or settings.cwd_deleted:
            raise
        named = settings.environ.get(REGISTRY_MARK)
        shared_by = None
        if makes and not named:
            shared_by = settings.shared_by
        if shared_by is not None:
            message = f"could not create a registry in {settings.cwd}: {shared_by} would use it"
            hint = (
                f"change to the project's folder, or name it: --registry {settings.cwd / REGISTRY}"
            )
            raise Failure(Code.REGISTRY_NOT_FOUND, message, hint) from None
        return settings.cwd / (named or REGISTRY)


def _refuse_empty(given: str | None) -> None:
    """Refuse an empty path: a script's unset variable must not select the nearest registry."""
    if given == "":
        reason = "could not find a registry: --registry was given an empty path"
        raise Failure(Code.USAGE, reason, "name the file")


def _named(settings: Settings, path: str) -> Path:
    return Path(settings.cwd, os.path.expanduser(path))  # noqa: PTH111 - pathlib's fails on unknown users


def _nearest(settings: Settings) -> Path:
    if settings.cwd_deleted:
        reason = "could not find a registry: the working directory was deleted"
        hint = "change to a folder that exists, or pass --registry PATH"
        raise Failure(Code.REGISTRY_NOT_FOUND, reason, hint)
    registry, untrusted = nearest_registry(str(settings.cwd), settings.uid)
    if registry is None:
        reason = f"could not find a registry: no {REGISTRY} in {settings.cwd} or above it"
        if settings.shared_by is not None:
            first = IN_PROJECT
        else:
            first = MAKE_ONE
        hint = f"{first}, or point to one with --registry PATH"
        raise Failure(Code.REGISTRY_NOT_FOUND, reason, hint)
    if untrusted:
        uids = ", ".join(map(str, sorted(untrusted)))
        reason = f"it, or its folder, belongs to another user (uid {uids})"
        message = f"could not use the registry {registry}: {reason}"
        hint = f"if you trust it, name it: --registry {registry}"
        raise Failure(Code.REGISTRY_UNTRUSTED, message, hint)
    return Path(registry)


def user_here(uid: int) -> str:
    """Return what tells this user of this machine from all others: nobody elsewhere can know it, so
    that a file from there cannot pretend to be of this user's making."""
    from hashlib import sha256  # only starts and restarts need it

    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        machine = os.uname().nodename
    return sha256(f"tmuxreap {machine} {uid}".encode()).hexdigest()
