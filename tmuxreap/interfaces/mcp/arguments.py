"""What the tools take, by kinds: targets, reasons, spans; and how the words of a tool become those
of the command line.

Decides nothing: what is wrong with an argument is said by its type."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal

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
from tmuxreap.core.times import LONGEST_S, parse_duration
from tmuxreap.sessions.context import Context

LONGEST_REASON = 1000
FLAGS = {  # arguments whose flag has another name
    "itself": "--self",
    "print_only": "--print",
    "tags": "--tag",
}
OPTIONS = {  # and those that the commands themselves call by another name
    "purge_conversation": "purge",
    "any": "anyone",
    "all": "everything",
    "tags": "tag",
}


def _alone(given: object) -> object:
    """One name may stand without its brackets."""
    return [given] if isinstance(given, str) else given


def _span(given: object) -> object:
    return parse_duration(given) if isinstance(given, str) else given


def _plain(text: str) -> str:
    """It will stand in files and on terminals."""
    if any(unicodedata.category(sign) == "Cc" and sign not in "\n\t" for sign in text):
        raise ValueError("there is a control character in it")
    return text


Names = Annotated[list[str], BeforeValidator(_alone)]
Targets = Annotated[
    Names, Field(min_length=1, description="Names; or PATTERN*, tag:X, agent:A, task:ID, all.")
]
Reason = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_REASON),
    AfterValidator(_plain),
    Field(description="Why: recorded."),
]
Seconds = Annotated[float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False), BeforeValidator(_span)]
TaskStatus = Literal["failed", "ready", "cancelled"]
TaskWord = Annotated[TaskStatus, Field(description="What becomes of its task.")]
DryRun = Annotated[bool, Field(description="Answer with the plan, do nothing.")]
Yes = Annotated[bool, Field(description="Needed inside a session for more than names.")]
Hosts = Annotated[Names, Field(description="Run there: hosts, @tag, all, or local.")]


class Arguments(BaseModel):
    """What a tool takes. Its docstring is what the tool says of itself."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, given: object) -> object:
        """A tool for a session is called with its `name` by who did not read what it takes."""
        many = next((name for name in ("targets", "names") if name in cls.model_fields), None)
        if not isinstance(given, dict) or many is None or {"name", many} <= given.keys():
            return given
        return {many if key == "name" else key: value for key, value in given.items()}

    def run(self, context: Context) -> Result:
        raise NotImplementedError

    def trimmed(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer as it is told; some tools take out of it what was not asked for."""
        return answer

    def words(self) -> dict[str, object]:
        """What was given, as the command of the command line takes it; another host reads it so."""
        return {
            OPTIONS.get(name, name): _word(getattr(self, name))
            for name in type(self).model_fields
            if name in self.model_fields_set and name != "host"
        }


def _word(value: object) -> object:
    """Spans are text there."""
    return f"{value:g}" if isinstance(value, float) else value


def with_host(arguments: type[Arguments]) -> type[Arguments]:
    """The same, with the hosts on which it may run."""
    return create_model(
        arguments.__name__, __base__=arguments, __doc__=arguments.__doc__, host=(Hosts, [])
    )


def flags_of(arguments: type[Arguments]) -> Mapping[str, str]:
    """The flags that its arguments stand for, each with the name that it is given by here."""
    return {
        FLAGS.get(name, "--" + name.replace("_", "-")): field.alias or name
        for name, field in arguments.model_fields.items()
    }
