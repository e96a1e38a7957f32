"""Which registry is used, and which one is trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tmuxreap.core.errors import Code, Failure
from tmuxreap.system.environment import Settings, registry_or_new, registry_path

STRANGER = 65534
AT = Path(".hermes") / "agent-sessions.yaml"
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")


def settings(cwd: Path, uid: int | None = None, **environ: str) -> Settings:
    return Settings(environ, cwd, os.getuid() if uid is None else uid, 1, "linux")


def made(folder: Path) -> Path:
    path = folder / AT
    path.parent.mkdir(parents=True)
    path.write_text("tmux_sessions: []\n")
    return path


def refusal(where: Settings, given: str | None = None) -> Failure:
    with pytest.raises(Failure) as caught:
        registry_path(where, given)
    return caught.value


def test_the_nearest_registry_upwards_is_used(tmp_path: Path) -> None:
    far, deep = made(tmp_path), tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert registry_path(settings(deep), None) == far
    near = made(tmp_path / "a")
    assert registry_path(settings(deep), None) == near
    assert registry_path(settings(tmp_path), None) == far


def test_the_registry_flag_wins_over_the_environment(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "given.yaml").touch()
    (tmp_path / "named.yaml").touch()
    where = settings(tmp_path, TMUXREAP_REGISTRY="named.yaml")
    assert registry_path(where, "given.yaml") == tmp_path / "given.yaml"
    assert registry_path(where, None) == tmp_path / "named.yaml"
    assert registry_path(settings(tmp_path, TMUXREAP_REGISTRY=""), None) == tmp_path / AT
    assert registry_path(where, str(tmp_path / AT)) == tmp_path / AT


@pytest.mark.parametrize(
    ("given", "named", "how"), [("x.yaml", "y.yaml", "--registry"), (None, "y.yaml", "TMUXREAP")]
)
def test_a_named_registry_is_not_replaced_by_another(
    given: str | None, named: str, how: str, tmp_path: Path
) -> None:
    made(tmp_path)
    failure = refusal(settings(tmp_path, TMUXREAP_REGISTRY=named), given)
    assert failure.code is Code.REGISTRY_NOT_FOUND
    assert how in failure.message
    assert failure.hint


def test_a_folder_without_a_registry_above_it_is_not_found(tmp_path: Path) -> None:
    failure = refusal(settings(tmp_path))
    assert failure.code is Code.REGISTRY_NOT_FOUND
    assert "tmuxreap start" in failure.hint


def test_a_new_registry_is_made_here_unless_it_is_named(tmp_path: Path) -> None:
    assert registry_or_new(settings(tmp_path), None) == tmp_path / AT
    assert registry_or_new(settings(tmp_path), "new/x.yaml") == tmp_path / "new" / "x.yaml"
    assert (
        registry_or_new(settings(tmp_path, TMUXREAP_REGISTRY="y.yaml"), None) == tmp_path / "y.yaml"
    )
    deep = tmp_path / "deep"
    deep.mkdir()
    found = made(tmp_path)
    assert registry_or_new(settings(deep), None) == found


def test_a_dangling_link_is_a_registry_that_is_there(tmp_path: Path) -> None:
    (tmp_path / AT).parent.mkdir()
    (tmp_path / AT).symlink_to("nowhere")
    assert registry_path(settings(tmp_path), None) == tmp_path / AT


def gave(path: Path) -> None:
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


@as_root
@pytest.mark.parametrize("part", [".", ".hermes", str(AT)])
def test_a_strangers_registry_is_refused(part: str, tmp_path: Path) -> None:
    path = made(tmp_path)
    gave(tmp_path / part)
    failure = refusal(settings(tmp_path))
    assert failure.code is Code.REGISTRY_UNTRUSTED
    assert str(STRANGER) in failure.message
    assert failure.hint == f"if you trust it, name it: --registry {path}"
    with pytest.raises(Failure) as caught:
        registry_or_new(settings(tmp_path), None)
    assert caught.value.code is Code.REGISTRY_UNTRUSTED


@as_root
def test_a_strangers_registry_is_taken_when_it_is_named(tmp_path: Path) -> None:
    path = made(tmp_path)
    gave(path)
    assert registry_path(settings(tmp_path), str(path)) == path
    assert registry_path(settings(tmp_path, TMUXREAP_REGISTRY=str(path)), None) == path


@as_root
@pytest.mark.parametrize("what", ["link", "target"])
def test_a_link_is_trusted_with_both_its_ends(what: str, tmp_path: Path) -> None:
    (tmp_path / AT).parent.mkdir()
    (tmp_path / "real.yaml").touch()
    (tmp_path / AT).symlink_to("../real.yaml")
    assert registry_path(settings(tmp_path), None) == tmp_path / AT
    gave(tmp_path / AT if what == "link" else tmp_path / "real.yaml")
    assert refusal(settings(tmp_path)).code is Code.REGISTRY_UNTRUSTED


@as_root
def test_the_search_does_not_go_beyond_a_strangers_folder(tmp_path: Path) -> None:
    """The owner of a folder on the way could plant a registry above it."""
    made(tmp_path)
    between = tmp_path / "theirs"
    deep = between / "mine"
    deep.mkdir(parents=True)
    assert registry_path(settings(deep), None) == tmp_path / AT
    gave(between)
    assert refusal(settings(deep)).code is Code.REGISTRY_NOT_FOUND


@as_root
def test_root_is_trusted_by_everyone_and_everyone_by_himself(tmp_path: Path) -> None:
    path = made(tmp_path)
    assert registry_path(settings(tmp_path, uid=STRANGER), None) == path
    for one in (path, path.parent, tmp_path):
        gave(one)
    assert registry_path(settings(tmp_path, uid=STRANGER), None) == path


def test_words_of_the_environment_become_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "HOME": "/h",
        "TMUXREAP_FAULT": "lock=EIO",
        "TMUXREAP_ID": "m",
        "NO_COLOR": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    found = Settings.from_environment()
    assert (found.cwd, found.uid, found.pid) == (tmp_path, os.getuid(), os.getpid())
    assert (found.home, found.fault, found.mark, found.no_color) == (
        Path("/h"),
        "lock=EIO",
        "m",
        True,
    )
    assert found.user_profiles == Path("/h/.config/tmuxreap/agents.yaml")
    bare = settings(tmp_path)
    assert (bare.home, bare.user_profiles, bare.fault, bare.mark, bare.no_color) == (
        None,
        None,
        "",
        None,
        False,
    )
    assert settings(tmp_path, XDG_CONFIG_HOME="/c", HOME="/h").user_profiles == Path(
        "/c/tmuxreap/agents.yaml"
    )


def test_a_dumb_terminal_gets_no_colours(tmp_path: Path) -> None:
    assert settings(tmp_path, TERM="dumb").no_color
    assert not settings(tmp_path, TERM="xterm-256color").no_color
