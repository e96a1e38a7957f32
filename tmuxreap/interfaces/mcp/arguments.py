"""Owns the kinds of arguments that tools take (targets, reasons, durations), and their translation
into options of the command line.

Decides nothing: the type of an argument says what is wrong with its value."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    create_model,
    model_validator,
)

from tmuxreap.core.results import Result
from tmuxreap.core.text import Style
from tmuxreap.core.times import LONGEST_S, parse_duration
from tmuxreap.core.verbs import VERBS
from tmuxreap.interfaces.cli.boundary import Call
from tmuxreap.interfaces.cli.commands import defaults, flags_by_name, work_of
from tmuxreap.sessions.context import Context

LONGEST_REASON = 1000


def _as_list(given: object) -> object:
    """Accept a single name without brackets."""
    return [given] if isinstance(given, str) else given


def _seconds(given: object) -> object:
    if isinstance(given, str):
        return parse_duration(given)
    return given


def _without_controls(text: str) -> str:
    """Refuse control characters: the text goes to files and terminals."""
    if any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in text):
        raise ValueError("there is a control character in it")
    return text


Names = Annotated[list[str], BeforeValidator(_as_list)]
Targets = Annotated[
    Names, Field(min_length=1, description="Names; or PATTERN*, tag:X, agent:A, task:ID, all.")
]
SameTargets = Annotated[Names, Field(min_length=1, description="As in show_session.")]
Reason = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_REASON),
    AfterValidator(_without_controls),
    Field(description="Why; it is recorded."),
]
Seconds = Annotated[
    float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False), BeforeValidator(_seconds)
]
TaskStatus = Literal["failed", "ready", "cancelled"]
TaskWord = Annotated[TaskStatus, Field(description="New status of its task.")]
SetName = Annotated[str | None, Field(alias="set", description="A name, for resume_session.")]
DryRun = Annotated[bool, Field(description="Only the plan.")]
Yes = Annotated[bool, Field(description="Inside a session: for patterns and all.")]
Hosts = Annotated[Names, Field(description="Hosts, @tag.")]


class Arguments(BaseModel):
    """The arguments of a tool. The class docstring is the tool's description. A field is named as
    the parameter of the command line, its alias as tools call it."""

    verb: ClassVar[str]  # as in the command line and the envelope
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, given: object) -> object:
        """Accept `name` instead of the field for several names: some callers guess it."""
        plural = next((name for name in ("targets", "names") if name in cls.model_fields), None)
        if not isinstance(given, dict) or plural is None or {"name", plural} <= given.keys():
            return given
        return {plural if key == "name" else key: value for key, value in given.items()}

    def run(self, context: Context) -> Result:
        """Run the verb, as the command line does."""
        known = defaults(VERBS[self.verb])
        words = {name: value for name, value in self.words().items() if name in known}
        why = getattr(self, "reason", None)
        return work_of(self.verb, words)(Call(context, Style(json=True), why=why))

    def trimmed(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to send; some tools drop what was not asked for."""
        return answer

    def words(self) -> dict[str, object]:
        """Return the given arguments as parameters of the command line."""
        found: dict[str, object] = {}
        for name in type(self).model_fields:
            if name in self.model_fields_set and name != "host":
                found[name] = _word(getattr(self, name))
        return found


def _word(value: object) -> object:
    """Return the value as text where the command line expects a duration."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return value


def with_host(arguments: type[Arguments]) -> type[Arguments]:
    """Add the argument `host` to these arguments."""
    return create_model(
        arguments.__name__, __base__=arguments, __doc__=arguments.__doc__, host=(Hosts, [])
    )


def flags_of(arguments: type[Arguments]) -> Mapping[str, tuple[str, bool]]:
    """Map each flag of the command line to the argument that stands for it, and whether that is
    true or false."""
    fields = arguments.model_fields
    if "host" in fields:
        flags = {"--host": ("host", False)}
    else:
        flags = {}
    for name, its in flags_by_name(VERBS[arguments.verb]).items():
        if field := fields.get(name):
            argument = (field.alias or name, field.annotation in (bool, bool | None))
            flags.update(dict.fromkeys(its, argument))
    return flags
