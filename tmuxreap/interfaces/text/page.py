"""The report as one static HTML file: a bar for each session, with its states and its end. No
script, no font and no image from elsewhere; every word is masked and escaped.

Decides nothing: it shows what `report` answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tmuxreap.core.answers import Freed, Reported, Span
from tmuxreap.core.masking import mask_secrets
from tmuxreap.core.text import plain
from tmuxreap.core.times import epoch_of, short_duration
from tmuxreap.core.values import replace
from tmuxreap.interfaces.text.receipt import end_of, size, times_of

STATES = ("working", "waiting", "limited", "idle", "unknown")
LEAST_PERCENT = 0.3  # a shorter time is still seen
STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1c2430; --dim: #667085; --line: #d7dde5;
  --working: #2f7d4f; --waiting: #d1630f; --limited: #b42318; --idle: #8fa3bd;
  --unknown: #d9dee6; --end: #1c2430; }
@media (prefers-color-scheme: dark) { :root { --back: #12161c; --text: #e6eaf0; --dim: #98a2b3;
  --line: #2b323c; --working: #4caf7a; --waiting: #f79040; --limited: #f97066; --idle: #5d7391;
  --unknown: #333b47; --end: #e6eaf0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem; background: var(--back);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0 0 .25rem; } p { margin: .25rem 0; color: var(--dim); }
.sum { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin: 1rem 0; padding: 0; }
.sum b { display: block; font-size: 1.6rem; line-height: 1.2; } .sum span { color: var(--dim); }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0 0 1rem; font-size: .85rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem;
  vertical-align: -1px; border-radius: 2px; }
.one { display: grid; grid-template-columns: 12rem 1fr; gap: .25rem 1rem; align-items: center;
  padding: .5rem 0; border-top: 1px solid var(--line); }
.one h2 { font-size: 1rem; margin: 0; } .one small { color: var(--dim); font-weight: normal; }
.bar { position: relative; height: 1.4rem; background: transparent; border-radius: 3px;
  outline: 1px solid var(--line); overflow: hidden; }
.bar i { position: absolute; top: 0; bottom: 0; } .bar .end { width: 3px; background: var(--end); }
.one p { grid-column: 2; font-size: .85rem; margin: 0; }
.times { display: flex; justify-content: space-between; font-size: .8rem; color: var(--dim);
  margin-left: 13rem; }
@media (max-width: 40rem) { .one { grid-template-columns: 1fr; } .one p { grid-column: 1; }
  .times { margin-left: 0; } }
"""


def page(sessions: Sequence[Reported], freed: Freed, registry: str) -> str:
    """Return the whole file. `registry`: whose sessions these are."""
    return "\n".join(_lines(sessions, freed, registry)) + "\n"


def _lines(sessions: Sequence[Reported], freed: Freed, registry: str) -> Iterator[str]:
    colors = "".join(f".{state}{{background:var(--{state})}}" for state in STATES)
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield "<title>tmuxreap report</title>"
    yield f"<style>{STYLE}{colors}</style></head><body>"
    yield "<h1>What the agents did</h1>"
    yield f"<p>{_text(freed.since)} to {_text(freed.until)}</p>"
    yield f"<p>Registry: {_text(registry)}</p>"
    yield '<div class="sum">'
    for number, what in _sums(freed):
        yield f"<div><b>{number}</b><span>{what}</span></div>"
    yield "</div>"
    yield '<div class="key">'
    for state in STATES:
        yield f'<span><i class="{state}"></i>{state}</span>'
    yield '<span><i style="background:var(--end);width:3px"></i>ended</span></div>'
    axis = _axis(sessions, freed)
    for one in sessions:
        yield from _session(one, axis)
    if sessions:
        yield f'<div class="times"><span>{_text(axis.since)}</span>'
        yield f"<span>{_text(axis.until)}</span></div>"
    else:
        yield "<p>No session ran in this time.</p>"
    yield "</body></html>"


def _axis(sessions: Sequence[Reported], freed: Freed) -> Freed:
    """Begin with the first thing that is shown: minutes would be invisible in an empty day."""
    seen = []
    for one in sessions:
        seen += [span.since for span in one.spans]
        if one.ended_at is not None:
            seen.append(one.ended_at)
    return replace(freed, since=max(freed.since, min(seen, default=freed.since)))


def _sums(freed: Freed) -> Iterator[tuple[str, str]]:
    yield str(freed.sessions), "sessions ended"
    yield str(freed.processes), "processes ended"
    yield size(freed.freed_mb), "memory freed"
    yield str(freed.survivors), "survivors"


def _session(one: Reported, freed: Freed) -> Iterator[str]:
    if one.agent:
        agent = f" <small>{_text(one.agent)}</small>"
    else:
        agent = ""
    yield f'<section class="one"><h2>{_text(one.name)}{agent}</h2><div class="bar">'
    for span in one.spans:
        yield _bar(span, freed)
    if one.ended_at is not None:
        at = _percent(one.ended_at, freed)
        yield f'<i class="end" style="left:calc({at:.2f}% - 2px)" title="{_text(end_of(one))}"></i>'
    yield "</div>"
    yield f"<p>{_text(times_of(one))}</p>"
    if one.ended_at is not None:
        yield f"<p>{_text(end_of(one))}</p>"
    yield "</section>"


def _bar(span: Span, freed: Freed) -> str:
    left = _percent(span.since, freed)
    right = _percent(span.until, freed)
    wide = max(right - left, LEAST_PERCENT)
    title = f"{span.state}, {span.since} to {span.until} ({short_duration(span.seconds)})"
    style = f"left:{left:.2f}%;width:{wide:.2f}%"
    return f'<i class="{span.state}" style="{style}" title="{_text(title)}"></i>'


def _percent(at: str, freed: Freed) -> float:
    begin, moment, end = (epoch_of(text) or 0.0 for text in (freed.since, at, freed.until))
    share = (moment - begin) / max(end - begin, 1.0)
    return min(max(share, 0.0), 1.0) * 100


def _text(words: str) -> str:
    return escape(plain(mask_secrets(words)))
