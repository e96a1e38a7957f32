"""hosts.yaml: what is accepted, what is refused, and from which owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.values import replace
from tmuxreap.hosts.file import Host, Hosts, parse, read_hosts
from tmuxreap.system import own_files
from tmuxreap.system.environment import Settings

PLACE = Path("hosts.yaml")


def read(text: str) -> dict[str, Host]:
    return parse(PLACE, text)


def test_a_bare_name_is_an_ssh_destination() -> None:
    assert read("hosts: {build-1: {}}")["build-1"] == Host("build-1", ssh="build-1")
    assert read("hosts: {build-1: }")["build-1"].ssh == "build-1"


def test_every_key_of_a_host_is_read() -> None:
    found = read(
        "hosts:\n  gpu: {ssh: me@gpu-7, tags: [big], registry: work/r.yaml, program:"
        " ~/.local/bin/tmuxreap}\n  dev: {via: [docker, exec, -i, dev]}\n"
    )
    gpu = Host("gpu", "me@gpu-7", (), ("big",), "work/r.yaml", "~/.local/bin/tmuxreap")
    assert found == {"gpu": gpu, "dev": Host("dev", via=("docker", "exec", "-i", "dev"))}


def test_an_empty_list_of_hosts_is_no_fault() -> None:
    assert read("hosts:\n") == {}
    assert read("hosts: {}\n") == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hosts: [a, b]",
        "host: {}",
        "hosts: {a: {}}\nmore: 1",
        "hosts: {a: {sssh: b}}",
        "hosts: {a: {}, a: {ssh: b}}",
        "hosts: {a: {ssh: x, via: [y]}}",
        "hosts: {-oProxyCommand=x: {}}",
        "hosts: {a: {ssh: -oProxyCommand=x}}",
        "hosts: {a: {ssh: '-l@x'}}",
        "hosts: {a: {ssh: 'me@-x'}}",
        "hosts: {a: {ssh: 'a b'}}",
        'hosts: {"a\\tb": {}}',
        'hosts: {a: {ssh: "a\\x1b[31m"}}',
        "hosts: {local: {}}",
        "hosts: {all: {}}",
        "hosts: {a@b: {}}",
        'hosts: {"a,b": {}}',
        "hosts: {1: {}}",
        "hosts: {a: {via: []}}",
        "hosts: {a: {via: docker}}",
        "hosts: {a: {via: [-x]}}",
        "hosts: {a: {via: [1]}}",
        "hosts: {a: {tags: big}}",
        "hosts: {a: {program: 'tmuxreap; rm'}}",
        "hosts: {a: {program: '$(x)'}}",
        "hosts: {a: {program: '~me/bin/x'}}",
        "hosts: {a: {program: -x}}",
        "hosts: {a: {program: 'a b'}}",
        "hosts: {a: {registry: 3}}",
        "hosts: {a: x}",
        "hosts: {a: !!python/object/apply:os.system [x]}",
        "hosts: {a: ",
    ],
)
def test_odd_values_in_hosts_yaml_are_refused(text: str) -> None:
    with pytest.raises(Failure) as caught:
        read(text)
    assert caught.value.code is Code.CONFIG_INVALID


def settings(folder: Path, uid: int) -> Settings:
    return Settings({"XDG_CONFIG_HOME": str(folder)}, folder, uid, 1, "linux")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tmuxreap" / "hosts.yaml"
    path.parent.mkdir(mode=0o755)
    path.write_text("hosts: {a: {}}")
    path.chmod(0o644)
    return path


def test_the_users_own_file_is_read(file: Path, tmp_path: Path) -> None:
    assert list(read_hosts(settings(tmp_path, file.stat().st_uid)).found) == ["a"]


def test_without_a_file_there_is_this_machine_alone(tmp_path: Path) -> None:
    hosts = read_hosts(settings(tmp_path, 0))
    assert hosts.named("a") is None
    assert hosts.named("local") == Host("local")


@pytest.mark.parametrize(
    ("of_folder", "mode"), [(False, 0o664), (False, 0o646), (True, 0o775), (True, 0o757)]
)
def test_a_file_that_others_may_write_is_refused(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_folder: bool, mode: int
) -> None:
    monkeypatch.setattr(own_files, "is_private_group", lambda group, uid: False)
    (file.parent if of_folder else file).chmod(mode)
    refused(read_hosts(settings(tmp_path, file.stat().st_uid)), "others may write")


def test_a_link_to_a_file_that_others_may_write_is_refused(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.yaml"
    file.rename(elsewhere)
    elsewhere.chmod(0o666)
    file.symlink_to(elsewhere)
    refused(read_hosts(settings(tmp_path, elsewhere.stat().st_uid)), "others may write")


def test_a_file_of_another_user_is_refused(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = type(file).stat(file)
    if found.st_uid == 0:  # root's files are trusted, so this reads one of a third user
        import os

        os.chown(file, 12345, -1)
    refused(read_hosts(settings(tmp_path, 54321)), "belongs to another user")


def refused(hosts: Hosts, why: str) -> None:
    """Check that no host of the file is used, by any word."""
    assert not hosts.found
    for select in (hosts.every, lambda: hosts.named("a"), lambda: hosts.tagged("x")):
        with pytest.raises(Failure, match=why) as caught:
            select()
        assert caught.value.code is Code.CONFIG_INVALID
    assert hosts.named("local") == Host("local")


def test_a_wrong_host_is_left_out_and_the_others_stay(file: Path, tmp_path: Path) -> None:
    here = settings(tmp_path, file.stat().st_uid)
    file.write_text("hosts:\n  a: {}\n  b: {sssh: x}\n")
    hosts = read_hosts(here)
    assert list(hosts.found) == ["a"]
    (fault,) = hosts.faults
    assert (fault.part, "line 3, column 3: b: 'sssh'" in fault.message) == ("b", True)
    with pytest.raises(Failure, match="sssh"):
        hosts.named("b")
    assert hosts.named("c") is None


def test_a_wrong_host_counts_as_it_was_last_read_well(file: Path, tmp_path: Path) -> None:
    here = settings(tmp_path, file.stat().st_uid)
    here = replace(here, environ={**here.environ, "XDG_STATE_HOME": str(tmp_path)})
    file.write_text("hosts: {a: {ssh: me@a}}")
    assert read_hosts(here).faults == ()
    for text in ("hosts: {a: {ssh: -x}}", "hosts: [", "[" * 50_000):
        file.write_text(text)
        hosts = read_hosts(here)
        assert hosts.named("a") == Host("a", ssh="me@a")
        assert [fault.remembered for fault in hosts.faults] == [True]
