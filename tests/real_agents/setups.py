"""How each real agent is installed, seeded and pointed at the mock model: data for the matrix.

Every agent gets a HOME of its own and a dummy key; nothing of the user's is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

SUGGESTION = "run the tests"
KEY = "dummy-key-of-the-tests-0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Place:
    home: Path
    project: Path
    url: str

    def write(self, name: str, text: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def json(self, name: str, data: object) -> None:
        self.write(name, json.dumps(data))


@dataclass(frozen=True, slots=True)
class Setup:
    package: str  # of npm; `pypi:NAME` of PyPI
    program: str
    seed: Callable[[Place], dict[str, str]]  # writes its configuration, answers its environment
    newline: str = "C-j"  # the key that begins another line of a prompt
    queue: str = "Enter"  # the key that queues a prompt while the agent works
    options: tuple[str, ...] = ()
    first: tuple[str, ...] = ("{prompt}",)  # of a start with a prompt in its command
    allowing: tuple[str, ...] = ()  # instead of them: all tools run without asking
    aside: str = "\0"  # in what it asks the model for itself, between turns
    queue_by: str = "exit_keys"  # how one is stopped that has a prompt queued
    keeps_queue: bool = False  # what is queued is part of its conversation at once
    allowing_environ: tuple[tuple[str, str], ...] = ()
    suggests: tuple[str, str] | None = None  # how it asks for what it suggests, and the answer
    subscribed: tuple[tuple[str, str], ...] = ()  # as one whose plan has limits
    tells_limit: bool = True  # its screen says that it met one
    tells_until: bool = True  # and for how long
    command: str = "touch {proof}"  # what the tool would run: something that it asks for
    spoken: str = ""  # how a model that is given no tools names a command to be run
    remembers: bool = True  # it keeps conversations
    # which it is in is certain: from its first start, from a resume (2), or never more than a guess
    certain_from: int | None = 1
    denies: bool = True  # a key closes its dialog and ends the turn
    lacks: tuple[str, ...] = ()  # states that it does not have
    whole: tuple[str, ...] = ()  # drafts that it hands over whole to an editor
    fast_s: float = 1.5  # an idle one is gone by then, with the exit keys and no others


def program_of(folder: Path, agent: str) -> Path:
    """Where scripts/test-agents has put it."""
    setup = SETUPS[agent]
    place = "venv/bin" if setup.package.startswith("pypi:") else "node_modules/.bin"
    return folder / agent / place / setup.program


def version_of(folder: Path, agent: str) -> str:
    """Of what is installed there."""
    registry, _, name = SETUPS[agent].package.rpartition(":")
    if registry == "pypi":
        places = (folder / agent / "venv" / "lib").glob("*/site-packages")
        (found,) = metadata.distributions(name=name, path=[str(place) for place in places])
        return found.version
    package = folder / agent / "node_modules" / name / "package.json"
    return str(json.loads(package.read_text())["version"])


def _claude(place: Place) -> dict[str, str]:
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    seeded = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "autoUpdates": False,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(place.project): trusted},
    }
    place.json(".claude.json", seeded)
    return {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _codex(place: Place) -> dict[str, str]:
    place.write(
        ".codex/config.toml",
        f"""model = "mock"
model_provider = "mock"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.mock]
name = "mock"
base_url = "{place.url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
[projects."{place.project}"]
trust_level = "trusted"
""",
    )
    return {"MOCK_KEY": KEY}


def _gemini(place: Place) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"name": "gemini-2.5-pro"},  # the one named "auto" asks a second model first
    }
    place.json(".gemini/settings.json", settings)
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.url}


def _qwen(place: Place) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "model": {"name": "mock"},
    }
    place.json(".qwen/settings.json", settings)
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{place.url}/v1", "OPENAI_MODEL": "mock"}


def _of_a_provider(place: Place) -> dict[str, object]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Mock",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": KEY},
        "models": {"mock": {"name": "Mock"}},
    }
    return {
        "provider": {"mock": provider},
        "model": "mock/mock",
        "small_model": "mock/mock",
        "permission": {"bash": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }


def _opencode(place: Place) -> dict[str, str]:
    place.json(".config/opencode/opencode.json", _of_a_provider(place))
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _kilo(place: Place) -> dict[str, str]:
    place.json(".config/kilo/kilo.json", {**_of_a_provider(place), "snapshot": False})
    return {"KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_MODELS_FETCH": "1"}


def _copilot(place: Place) -> dict[str, str]:
    place.json(".copilot/config.json", {"trusted_folders": [str(place.project)], "banner": "never"})
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "mock",
        "COPILOT_OFFLINE": "true",
    }


def _pi(place: Place) -> dict[str, str]:
    provider = {
        "baseUrl": f"{place.url}/v1",
        "api": "openai-completions",
        "apiKey": KEY,
        "models": [{"id": "mock"}],
    }
    place.json(".pi/agent/models.json", {"providers": {"mock": provider}})
    place.json(".pi/agent/settings.json", {"defaultProvider": "mock", "defaultModel": "mock"})
    return {"PI_OFFLINE": "1"}


def _hermes(place: Place) -> dict[str, str]:
    settings = {
        "model": {
            "default": "mock",
            "provider": "custom",
            "base_url": f"{place.url}/v1",
            "api_key": KEY,
            "context_length": 128000,
        },
        "approvals": {"mode": "manual", "timeout": 600},  # else the model decides
        "clarify": {"timeout": 600},
    }
    place.json(".hermes/config.yaml", settings)
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{place.url}/v1"}


def _aider(place: Place) -> dict[str, str]:
    settings = {
        "model": "openai/mock",
        "check-update": False,
        "show-model-warnings": False,
        "show-release-notes": False,
        "analytics-disable": True,
        "gitignore": False,
        "map-tokens": 0,
        "edit-format": "diff",  # the one in which it runs commands
    }
    place.json(".aider.conf.yml", settings)
    place.write(".gitconfig", "[user]\nname = a\nemail = a@example.org\n")
    return {"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": f"{place.url}/v1"}


def _grok(place: Place) -> dict[str, str]:
    return {"GROK_API_KEY": KEY, "GROK_BASE_URL": f"{place.url}/v1", "GROK_MODEL": "mock"}


def _cn(place: Place) -> dict[str, str]:
    model = {
        "name": "mock",
        "provider": "openai",
        "model": "mock",
        "apiBase": f"{place.url}/v1",
        "apiKey": KEY,
        "roles": ["chat"],
        "capabilities": ["tool_use"],
    }
    config = {"name": "mock", "version": "1.0.0", "schema": "v1", "models": [model]}
    place.json(".continue/config.yaml", config)
    place.write(".continue/.onboarding_complete", "")
    return {"CONTINUE_TELEMETRY_ENABLED": "0"}


ALLOWED = '{"permission": {"bash": "allow", "external_directory": "allow"}}'
TALL = ("tall", "tall, above", "tall, as shown", "in an editor")
WHOLE = ("paste", *TALL)
SETUPS = {
    "claude": Setup(
        "@anthropic-ai/claude-code",
        "claude",
        _claude,
        options=("--permission-mode", "default"),
        allowing=("--permission-mode", "acceptEdits", "--allowedTools", "Bash"),
        suggests=("[SUGGESTION MODE", SUGGESTION),
        subscribed=(("ANTHROPIC_API_KEY", ""), ("CLAUDE_CODE_OAUTH_TOKEN", KEY)),
        whole=WHOLE,
    ),
    "codex": Setup(
        "@openai/codex",
        "codex",
        _codex,
        queue="Tab",
        allowing=("--dangerously-bypass-approvals-and-sandbox",),
        fast_s=7,
        whole=WHOLE,
    ),
    "gemini": Setup(
        "@google/gemini-cli",
        "gemini",
        _gemini,
        allowing=("--yolo",),
        tells_until=False,
        first=("-i", "{prompt}"),
        whole=WHOLE,
    ),
    "qwen": Setup(
        "@qwen-code/qwen-code",
        "qwen",
        _qwen,
        options=("--approval-mode", "default"),
        allowing=("--approval-mode", "yolo"),
        aside="Reply with ONLY the suggestion",
        suggests=("Reply with ONLY the suggestion", f'{{"suggestion": "{SUGGESTION}"}}'),
        tells_limit=False,  # it tries again for minutes, and shows that it works
        whole=TALL,  # a paste is handed over as the words that stand for it
    ),
    "opencode": Setup(
        "opencode-ai",
        "opencode",
        _opencode,
        keeps_queue=True,
        allowing_environ=(("OPENCODE_CONFIG_CONTENT", ALLOWED),),
        whole=WHOLE,
    ),
    "copilot": Setup(
        "@github/copilot",
        "copilot",
        _copilot,
        allowing=("--allow-all-tools",),
        tells_until=False,
        whole=TALL,  # a paste is handed over as the words that stand for it
    ),
    "kilo": Setup(
        "@kilocode/cli",
        "kilo",
        _kilo,
        keeps_queue=True,
        allowing_environ=(("KILO_CONFIG_CONTENT", ALLOWED),),
        whole=WHOLE,
    ),
    "pi": Setup(
        "@mariozechner/pi-coding-agent",
        "pi",
        _pi,
        tells_limit=False,
        certain_from=2,
        lacks=("dialog", "start-up"),
    ),
    "hermes": Setup(
        "pypi:hermes-agent",
        "hermes",
        _hermes,
        newline="M-Enter",
        allowing=("--yolo",),
        command="rm -r {proof}.no; touch {proof}",
        tells_limit=False,
        lacks=("queued", "asks first"),  # another prompt ends the turn that it is in
        fast_s=7,
    ),
    "aider": Setup(
        "pypi:aider-chat",
        "aider",
        _aider,
        certain_from=None,
        newline="M-Enter",
        spoken="```bash\n{command}\n```\n",
        tells_limit=False,
        # what is typed while it works is shown nowhere; it runs no command without asking
        lacks=("queued", "tool below", "tool"),
        fast_s=7,
    ),
    "grok": Setup(
        "@vibe-kit/grok-cli",
        "grok",
        _grok,
        remembers=False,
        certain_from=None,
        tells_limit=False,
        denies=False,  # the model is asked to go on
        # it runs no command without asking; Up goes from a draft to what was said before
        lacks=(
            *("queued", "tool below", "tool", "above"),
            *("by another tool", "killed of another tool", "crashed"),
        ),
    ),
    "cn": Setup(
        "@continuedev/cli",
        "cn",
        _cn,
        allowing=("--auto",),
        certain_from=None,
        queue_by="hangup",
        tells_limit=False,
        lacks=("above",),  # Up goes from a draft to what was said before
    ),
}
