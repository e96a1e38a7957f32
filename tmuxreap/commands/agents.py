"""`agents`: lists the known agents and what tmuxreap can do with each."""

from __future__ import annotations

from tmuxreap.agents.profiles import Profile
from tmuxreap.core.answers import Agent
from tmuxreap.core.results import Result
from tmuxreap.sessions.context import Context


def run(context: Context) -> Result:
    """List all that can be used; fail if a block of the user's cannot."""
    known = [_item(profile) for profile in context.profiles.agents.values()]
    faults = context.profiles.faults
    failure = faults[0].failure if faults else None
    warnings = tuple(context.warnings)
    return Result("agents", None, context.clock.now(), known, warnings, failure)


def _item(profile: Profile) -> Agent:
    resume = None
    if profile.resume:
        resume = " ".join((*profile.command[:1], *profile.resume))
    return Agent(
        name=profile.name,
        about=profile.about,
        verified=profile.verified,
        process=tuple(profile.process),
        exit_keys=profile.has_keys,
        states=tuple(state.value for state in profile.screens),
        takes_an_id=bool(profile.launch),
        resume=resume,
        locators=tuple(locator.kind for locator in profile.locators),
        purge=bool(profile.purge),
    )
