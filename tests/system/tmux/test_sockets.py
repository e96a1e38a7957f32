from __future__ import annotations

import os
import socket as sockets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tmuxreap.core.model import NoServer, Unreachable
from tmuxreap.system.tmux.sockets import socket_path, why_no_answer


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A path short enough for a socket."""
    folder = Path(os.path.realpath("/tmp")) / f"trs-{os.getpid()}"
    folder.mkdir()
    yield folder
    for child in sorted(folder.rglob("*"), reverse=True):
        child.rmdir() if child.is_dir() and not child.is_symlink() else child.unlink()
    folder.rmdir()


def listener(path: Path | str) -> sockets.socket:
    server = sockets.socket(sockets.AF_UNIX)
    server.bind(str(path))
    server.listen(1)
    return server


@pytest.mark.parametrize(
    ("server", "label"),
    [(None, "default"), ("", "default"), ("default", "default"), ("agents", "agents")],
)
def test_a_name_is_in_the_users_own_folder(server: str | None, label: str, folder: Path) -> None:
    assert socket_path(server, {}, 1000) == f"{os.path.realpath('/tmp')}/tmux-1000/{label}"
    assert (
        socket_path(server, {"TMUX_TMPDIR": ""}, 7) == f"{os.path.realpath('/tmp')}/tmux-7/{label}"
    )
    link = folder / "link"
    link.symlink_to(folder)
    assert socket_path(server, {"TMUX_TMPDIR": str(link)}, 7) == f"{folder}/tmux-7/{label}"


def test_a_folder_that_is_not_there_is_passed_over_as_tmux_does() -> None:
    assert (
        socket_path("a", {"TMUX_TMPDIR": "/nowhere/at/all"}, 7)
        == f"{os.path.realpath('/tmp')}/tmux-7/a"
    )


def test_a_path_is_kept_unchanged() -> None:
    assert socket_path("/run/x/s", {"TMUX_TMPDIR": "/tmp"}, 7) == "/run/x/s"


def test_a_socket_that_never_existed_means_no_server(folder: Path) -> None:
    assert why_no_answer(f"{folder}/s") == NoServer(f"{folder}/s")
    assert why_no_answer(f"{folder}/none/s") == NoServer(f"{folder}/none/s")


def test_a_stale_socket_means_no_server(folder: Path) -> None:
    listener(folder / "s").close()
    assert why_no_answer(f"{folder}/s") == NoServer(f"{folder}/s")


def test_a_socket_with_a_listener_is_reported_as_such(folder: Path) -> None:
    with listener(folder / "s"):
        assert why_no_answer(f"{folder}/s") is None


@pytest.mark.parametrize("how", ["as given", "through a link", "relative"])
def test_a_deleted_socket_of_a_living_listener_does_not_mean_no_server(
    folder: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "link").symlink_to(folder)
    monkeypatch.chdir(folder)
    name = f"s{os.getpid()}"  # a relative path may match that name in any folder
    given = {
        "as given": f"{folder}/{name}",
        "through a link": f"{folder}/link/{name}",
        "relative": f"./{name}",
    }[how]
    with listener(given):
        (folder / name).unlink()
        monkeypatch.chdir("/")
        seen = why_no_answer(f"{folder}/{name}")
        assert isinstance(seen, Unreachable)
        assert "deleted" in seen.reason
        assert isinstance(why_no_answer(f"{folder}/other"), NoServer)
    assert isinstance(why_no_answer(f"{folder}/{name}"), NoServer)


def test_a_client_that_is_connected_is_no_listener(folder: Path) -> None:
    server = listener(folder / "s")
    with sockets.socket(sockets.AF_UNIX) as client:
        client.connect(f"{folder}/s")
        accepted, _ = server.accept()
        server.close()
        (folder / "s").unlink()
        assert why_no_answer(f"{folder}/s") == NoServer(f"{folder}/s")
        accepted.close()


def test_a_file_that_is_no_socket_cannot_be_asked(folder: Path) -> None:
    (folder / "file").touch()
    for path in (
        f"{folder}/file",
        str(folder),
        f"{folder}/file/s",
        "",
        f"{folder}/{'x' * 120}",
        f"{folder}/a\0b",
    ):
        seen = why_no_answer(path)
        assert isinstance(seen, Unreachable), path
        assert seen.reason
        assert seen.hint
