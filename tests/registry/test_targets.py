"""Which rows a target selects: an exact name first, and never a row that was not meant."""

from __future__ import annotations

import pytest

from tmuxreap.core.errors import Code
from tmuxreap.core.model import Row
from tmuxreap.registry.rows import BadRow, is_protected, read_row
from tmuxreap.registry.targets import AnyRow, Chosen, Questions, Wanted, choose, unknown


def row(index: int, name: str, status: str = "running", **fields: object) -> Row:
    return read_row(index, {"name": name, "status": status, **fields})


ROWS: tuple[AnyRow, ...] = (
    row(0, "acme-1", agent="claude", tags=["acme", "x"]),
    row(1, "acme-2", "stopped", agent="codex", tags=["acme"]),
    row(2, "web", agent="claude"),
    row(3, "old", "terminated"),
    row(4, "ancient", "archived"),
    BadRow(5, "acme-bad", "odd", 9, 3),
    BadRow(6, None, "no name", 12, 3),
)


def pick(
    *targets: str,
    wanted: Wanted = Wanted.RUNNING,
    ask: Questions | None = None,
    rows: object = None,
) -> Chosen:
    return choose(ROWS if rows is None else rows, targets, wanted, ask or Questions())  # type: ignore[arg-type]


def names(chosen: Chosen) -> list[str]:
    return [one.name for one in chosen.rows]


def test_a_name_means_its_row_whatever_its_state() -> None:
    assert names(pick("old", "web")) == ["old", "web"]
    assert not pick("old").sweeping


def test_a_name_is_never_a_prefix() -> None:
    assert pick("acme", "we", "web-", "WEB").rows == ()
    assert [one.target for one in pick("acme", "we", "web-", "WEB").missing] == [
        "acme",
        "we",
        "web-",
        "WEB",
    ]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted.RUNNING, ["acme-1"]),
        (Wanted.ENDED, ["acme-2"]),
        (Wanted.ALL, ["acme-1", "acme-2"]),
    ],
)
@pytest.mark.parametrize("target", ["acme-*", "acme-?", "acme-[12]", "tag:acme"])
def test_patterns_and_tags_select_by_state(
    target: str, wanted: Wanted, expected: list[str]
) -> None:
    chosen = pick(target, wanted=wanted)
    assert names(chosen) == expected
    assert chosen.sweeping


def test_the_word_all_means_the_rows_of_the_wanted_state() -> None:
    assert names(pick("all")) == ["acme-1", "web"]
    assert names(pick("all", wanted=Wanted.ENDED)) == ["acme-2", "old", "ancient"]
    assert names(pick("all", wanted=Wanted.ALL)) == ["acme-1", "acme-2", "web", "old", "ancient"]


def test_all_of_an_empty_registry_succeeds_and_a_pattern_fails() -> None:
    nothing = pick("all", rows=())
    assert (nothing.rows, nothing.bad, nothing.missing, nothing.sweeping) == ((), (), (), True)
    assert pick("*", rows=()).missing[0].failure.code is Code.SESSION_NOT_REGISTERED


def test_a_pattern_with_rows_of_the_other_state_is_no_failure() -> None:
    none = pick("ol?")
    assert (none.rows, none.bad, none.missing, none.sweeping) == ((), (), (), True)


@pytest.mark.parametrize("wanted", Wanted)
def test_a_task_means_its_rows_as_a_name_does(wanted: Wanted) -> None:
    rows = (
        row(0, "a", task_id="T-1"),
        row(1, "b", "stopped", task_id="T-1"),
        row(2, "c", task_id="T-10"),
        row(3, "d"),
    )
    assert names(pick("task:T-1", wanted=wanted, rows=rows)) == ["a", "b"]
    assert pick("task:T", rows=rows).missing[0].failure.code is Code.SESSION_NOT_REGISTERED


def test_an_agent_kind_selects_its_rows() -> None:
    assert names(pick("agent:claude")) == ["acme-1", "web"]
    by_name = Questions(agent_of=lambda one: "gemini" if one.name == "web" else None)
    assert names(pick("agent:gemini", ask=by_name)) == ["web"]


@pytest.mark.parametrize(
    "target", ["tag:", "agent:", "tag:nosuch", "tag:acm", "agent:nosuch", "", "pid:", "pid:x"]
)
def test_a_word_that_selects_nothing_is_missing(target: str) -> None:
    chosen = pick(target)
    assert chosen.rows == ()
    (missing,) = chosen.missing
    assert (missing.target, missing.failure.code) == (target, Code.SESSION_NOT_REGISTERED)
    assert missing.failure.message.startswith(f"could not find {target!r}")


def test_rows_appear_once_in_the_order_in_which_they_were_named() -> None:
    assert names(pick("web", "acme-*", "web", "tag:x", "acme-2")) == ["web", "acme-1", "acme-2"]
    assert names(pick("tag:x", "agent:claude", "acme-1", "all")) == ["acme-1", "web"]


def test_a_row_named_like_a_selector_is_selected_by_its_name() -> None:
    odd = (
        row(0, "tag:x", "stopped"),
        row(1, "y", tags=["x"]),
        row(2, "*"),
        row(3, "7"),
        row(4, "pid:7"),
        row(5, "a[b]"),
    )
    asked = Questions(row_of_pid=lambda _pid: "y")
    for name in ("tag:x", "*", "7", "pid:7", "a[b]"):
        chosen = pick(name, rows=odd, ask=asked)
        assert names(chosen) == [name]
        assert not chosen.sweeping


def test_a_row_named_all_is_not_selected_by_all() -> None:
    odd = (row(0, "all", "stopped"), row(1, "y"))
    assert names(pick("all", rows=odd)) == ["y"]
    assert names(pick("-", rows=odd)) == []


@pytest.mark.parametrize("target", ["pid:42", "42", "042"])
def test_a_pid_means_the_row_that_owns_it(target: str) -> None:
    asked: list[int] = []

    def owner(pid: int) -> str | None:
        asked.append(pid)
        return "old"

    chosen = pick(target, ask=Questions(row_of_pid=owner))
    assert (names(chosen), asked, chosen.sweeping) == (["old"], [42], False)


@pytest.mark.parametrize("target", ["pid:42", "42"])
def test_a_free_pid_is_a_missing_process(target: str) -> None:
    (missing,) = pick(target).missing
    assert missing.failure.code is Code.PROCESS_NOT_FOUND
    (missing,) = pick(target, ask=Questions(row_of_pid=lambda _pid: "forgotten")).missing
    assert missing.failure.code is Code.PROCESS_NOT_FOUND


@pytest.mark.parametrize("target", ["-7", "٣", "1.5", "0x7", "7 "])
def test_a_word_that_only_looks_like_a_pid_selects_nothing(target: str) -> None:
    asked = Questions(row_of_pid=lambda _pid: "web")
    assert names(pick(target, ask=asked)) == []


def test_bad_rows_are_named_when_they_are_selected() -> None:
    assert [one.index for one in pick("acme-bad").bad] == [5]
    assert [one.index for one in pick("acme-*").bad] == [5]
    assert [one.index for one in pick("all").bad] == [5, 6]
    for other in ("web", "tag:acme", "agent:claude", "w*"):
        assert pick(other).bad == ()


def test_all_includes_ended_rows_with_leftovers() -> None:
    with_leftovers = Questions(counts=lambda one: one.name == "old")
    assert names(pick("all", ask=with_leftovers)) == ["acme-1", "web", "old"]
    assert names(pick("acme-*", ask=with_leftovers)) == ["acme-1"]


def test_a_near_name_is_offered() -> None:
    (missing,) = pick("acme").missing
    assert missing.failure.hint.startswith("did you mean acme-1, acme-2, acme-bad? ")
    (missing,) = pick("acmx").missing
    assert missing.failure.hint.startswith("did you mean acme-1, ")
    many = [Row(f"web-{number}") for number in range(4)]
    assert unknown("web", many).hint.startswith("did you mean web-0, web-1, web-2? ")
    (missing,) = pick("zzz*").missing
    assert missing.failure.hint == "see all sessions with: tmuxreap list"


def test_a_missing_name_with_a_host_says_that_none_was_asked() -> None:
    (missing,) = pick("docs@gpu").missing
    assert missing.failure.message.endswith(
        ": no registered session matches, and 'gpu' is no host that was asked"
    )
    assert missing.failure.hint.endswith("the hosts with: tmuxreap hosts")
    (missing,) = pick("tag:me@home").missing
    assert "host" not in missing.failure.message


def test_a_missing_target_does_not_stop_the_others() -> None:
    chosen = pick("nosuch", "web", "tag:nosuch")
    assert names(chosen) == ["web"]
    assert [one.target for one in chosen.missing] == ["nosuch", "tag:nosuch"]


@pytest.mark.parametrize(
    ("target", "sweeping"),
    [
        ("web", False),
        ("pid:3", False),
        ("tag:x", True),
        ("agent:claude", True),
        ("task:T-1", True),
        ("tree:web", True),
        ("w*", True),
        ("all", True),
        ("nosuch*", True),
    ],
)
def test_a_word_that_may_mean_several_rows_is_sweeping(target: str, sweeping: bool) -> None:
    """Users are asked before a target that may select several rows is ended; agents must pass
    --yes."""
    assert (pick(target).sweeping, pick("web", target).sweeping) == (sweeping, sweeping)


KEPT: tuple[AnyRow, ...] = (
    row(0, "acme-1", tags=["x"]),
    row(1, "acme-2", tags=["x"], keep=True, task_id="t", parent="acme-1"),
    row(2, "below", parent="acme-2"),
)


def spare(*targets: str) -> Chosen:
    return choose(
        KEPT, targets, Wanted.RUNNING, Questions(row_of_pid=lambda _: "acme-2"), skip_protected=True
    )


@pytest.mark.parametrize("target", ["acme-*", "tag:x", "all", "tree:acme-1"])
def test_a_protected_session_is_selected_by_no_pattern(target: str) -> None:
    chosen = spare(target)
    assert "acme-2" not in names(chosen)
    assert (chosen.protected, chosen.missing) == (("acme-2",), ())


@pytest.mark.parametrize("target", ["acme-2", "pid:7"])
def test_a_protected_session_is_selected_by_its_name(target: str) -> None:
    chosen = spare("acme-*", target)
    assert (sorted(names(chosen)), chosen.protected) == (["acme-1", "acme-2"], ())


def test_a_word_that_means_the_protected_alone_means_nothing() -> None:
    chosen = spare("task:t")
    assert (chosen.rows, chosen.missing[0].failure.code) == ((), Code.SESSION_NOT_REGISTERED)


def test_below_the_protected_a_tree_continues() -> None:
    assert names(spare("tree:acme-2")) == ["below"]


@pytest.mark.parametrize(
    ("word", "kept"), [(True, True), ("yes", True), (1, True), (False, False), ("no", False)]
)
def test_any_word_but_a_plain_no_protects(word: object, kept: bool) -> None:
    assert is_protected(row(0, "acme", keep=word)) is kept
