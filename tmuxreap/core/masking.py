"""Masks secrets in text, and cuts a screen to what is stored of it: its last lines, without escape
sequences. Holds the kinds of secrets as data. Never runs a pattern on a text without one of the
kind's words, and no pattern without a bound to its cost per character."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from tmuxreap.core.values import frozen

KEPT_LINES = 40
MASK = "***"

_ESCAPES = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|["
    r" -/]*[0-~])"
)
_BLANKS = r"\n{3,}"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


Mask = Callable[[str], str]

_user_mask: Mask | None = str


def mask_also(mask: Mask | None = str) -> None:
    """Set what masks by the user's own patterns, replacing the previous one; None if they cannot be
    read: then no screen is shown or kept."""
    global _user_mask
    _user_mask = mask


def is_blind() -> bool:
    """Tell whether the user's own patterns cannot be read, so that nothing can be masked."""
    return _user_mask is None


def mask_secrets(text: str) -> str:
    """Replace every secret of a known kind, or matching a pattern of the user's, with asterisks."""
    if not text:
        return text

    lowered = text.lower()
    for kind in KINDS:
        if any(word in lowered for word in kind.words):
            text = _pattern(kind).sub(masked, text)
    return _user_mask(text) if _user_mask is not None else MASK


def kept_screen(screen: str) -> str:
    """Return the last lines of a screen, plain and masked, as stored in the registry; nothing if it
    cannot be masked."""
    if is_blind():
        return ""
    plain = re.sub(_CONTROLS, "", re.sub(_ESCAPES, "", screen.replace("\r\n", "\n")))
    # Masked before it is cut: a multi-line key is recognized by its first line.
    lines = [line.rstrip() for line in mask_secrets(plain).split("\n")]
    folded = re.sub(_BLANKS, "\n\n", "\n".join(lines)).strip("\n")
    return "\n".join(folded.split("\n")[-KEPT_LINES:])


@cache
def _pattern(kind: SecretKind) -> re.Pattern[str]:
    return re.compile(kind.pattern)


def masked(match: re.Match[str]) -> str:
    """Return what stands for a match: asterisks, after its part that may be kept."""
    return (match.groupdict().get("keep") or "") + MASK


@frozen
class SecretKind:
    """One kind of secret: words of which its text contains at least one, and its pattern."""

    name: str
    words: tuple[str, ...]
    pattern: str


# No letter or digit before it: "task-force" does not contain "sk-".
_START = r"(?<![A-Za-z0-9])"
# A quoted value ends at its closing quote or, where the screen cuts it off, at the end of the line.
# The third alternative has escaped quotes, as in JSON within a string.
_VALUE = r"(?:\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|\\\"[^\"\n]*\"?|[^\s'\"]\S*)"
_BETWEEN = r"\\?['\"]?[ \t]{0,8}[=:][ \t]{0,8}"

_GITHUB = tuple(f"gh{letter}_" for letter in "abcdefghijklmnopqrstuvwxyz")

# Tokens with a vendor's prefix: the characters that may follow, and the minimum count of them.
_WORD = r"[A-Za-z0-9_-]"
_ALNUM = r"[A-Za-z0-9]"
_HEX = r"[0-9a-fA-F]"
PREFIXES: tuple[tuple[str, str, str, int], ...] = (
    ("OpenAI, Anthropic, OpenRouter", "sk-", _WORD, 8),
    ("Cerebras", "csk-", _WORD, 16),
    ("Google API", "AIza", _WORD, 20),
    ("Google OAuth access", "ya29.", _WORD, 20),
    ("Google OAuth client", "GOCSPX-", _WORD, 16),
    ("Stripe secret", "sk_live_", _ALNUM, 8),
    ("Stripe secret, test", "sk_test_", _ALNUM, 8),
    ("Stripe restricted", "rk_live_", _ALNUM, 8),
    ("Stripe restricted, test", "rk_test_", _ALNUM, 8),
    ("Stripe webhook", "whsec_", _ALNUM, 16),
    ("GitHub fine-grained", "github_pat_", r"[A-Za-z0-9_]", 8),
    ("GitLab access", "glpat-", _WORD, 8),
    ("GitLab deploy", "gldt-", _WORD, 16),
    ("GitLab runner", "glrt-", _WORD, 16),
    ("GitLab trigger", "glptt-", _WORD, 16),
    ("npm", "npm_", _ALNUM, 16),
    ("PyPI", "pypi-", _WORD, 20),
    ("RubyGems", "rubygems_", _HEX, 16),
    ("Docker Hub", "dckr_pat_", _WORD, 16),
    ("Hugging Face", "hf_", _ALNUM, 16),
    ("Groq", "gsk_", _ALNUM, 16),
    ("xAI", "xai-", _ALNUM, 16),
    ("Perplexity", "pplx-", _ALNUM, 16),
    ("Replicate", "r8_", _ALNUM, 20),
    ("Tavily", "tvly-", _WORD, 16),
    ("DigitalOcean", "dop_v1_", _ALNUM, 16),
    ("DigitalOcean OAuth", "doo_v1_", _ALNUM, 16),
    ("DigitalOcean refresh", "dor_v1_", _ALNUM, 16),
    ("HashiCorp Vault", "hvs.", _WORD, 20),
    ("Databricks", "dapi", _HEX, 32),
    ("Grafana service", "glsa_", _WORD, 20),
    ("Grafana cloud", "glc_", r"[A-Za-z0-9+/=]", 32),
    ("Linear", "lin_api_", _ALNUM, 16),
    ("Notion", "ntn_", _ALNUM, 20),
    ("Supabase", "sbp_", _ALNUM, 20),
    ("Sentry organisation", "sntrys_", r"[A-Za-z0-9_+/=-]", 20),
    ("Sentry user", "sntryu_", _HEX, 20),
    ("Shopify", "shpat_", _HEX, 16),
    ("Figma", "figd_", _WORD, 20),
    ("Tailscale", "tskey-", _WORD, 16),
    ("New Relic", "NRAK-", _ALNUM, 16),
    ("Postman", "PMAK-", _WORD, 20),
    ("Atlassian", "ATATT3", r"[A-Za-z0-9_=-]", 20),
    ("age", "AGE-SECRET-KEY-1", _ALNUM, 20),
    ("Slack app", "xapp-", r"[A-Za-z0-9-]", 10),
)

_PEM_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_NAMES = (
    r"(?:api|access|account|secret|private|auth|client|refresh|bearer|encryption|signing|storage|shared)"
    r"[-_]?(?:key|token|secret)|session[-_]?token|pass[-_]?(?:word|wd|phrase)|_(?:key|token|secret|pwd)"
)

# The order matters: multi-line secrets first, then named values, then tokens recognized by their
# own form.
KINDS: tuple[SecretKind, ...] = (
    SecretKind(
        "private key",
        ("private key",),
        rf"-----BEGIN {_PEM_LABEL}(?:[^-]|-(?!----))*(?:-----[^\n-]{{0,80}}(?:-----)?)?",
    ),
    SecretKind(
        "private key whose first line is not shown",
        ("private key",),
        rf"(?m)(?:^[A-Za-z0-9+/=]{{32,76}}[ \t]{{0,4}}\n){{0,64}}(?:^[A-Za-z0-9+/=]{{1,76}}["
        rf" \t]{{0,4}}\n)?"
        rf"^-----END {_PEM_LABEL}",
    ),
    SecretKind(
        "Authorization header",
        ("authorization",),
        r"(?i)(?P<keep>authorization"
        + _BETWEEN
        + r"['\"]?(?:basic|bearer|digest|token|apikey|bot)[ \t]{1,8})"
        r"[^\s'\"]+",
    ),
    SecretKind(
        "bearer", ("bearer",), r"(?i)(?P<keep>\bBearer[ \t]{1,8})(?!tokens?\b|auth|of\b)" + _VALUE
    ),
    SecretKind(
        "named value",
        ("key", "token", "secret", "pass", "_pwd"),
        rf"(?i)(?P<keep>(?:{_NAMES}){_BETWEEN}){_VALUE}",
    ),
    SecretKind(
        "named value in JSON",
        ("token", "secret"),
        r"(?i)(?P<keep>[\"'](?:token|secret|credentials?)\\?[\"'][ \t]{0,8}:["
        rf" \t]{{0,8}})(?=\\?[\"']){_VALUE}",
    ),
    SecretKind(
        "option",
        ("--api", "--access", "--auth", "--token", "--pass", "--client", "--secret"),
        r"(?i)(?P<keep>--(?:api-?key|(?:access-|auth-)?token|password|passphrase"
        rf"|(?:client-)?secret)[= ])(?!-){_VALUE}",
    ),
    SecretKind(
        "password in a connection string",
        ("pwd=",),
        r"(?i)(?P<keep>;[ \t]{0,8}pwd=)[^;\s'\"]+",
    ),
    SecretKind(
        "password in a URL", ("://",), r"(?P<keep>://[^\s/:@'\"]{0,256}:)[^\s/'\"]{1,256}(?=@)"
    ),
    SecretKind(
        "token as user of a URL",
        ("://",),
        r"(?P<keep>://)[A-Za-z0-9_-]{20,256}(?=@|:[^\s/@]{0,256}@)",
    ),
    SecretKind(
        "parameter of a URL",
        ("key=", "token=", "sig=", "signature=", "secret="),
        r"(?i)(?P<keep>[?&](?:api[-_]?key|key|(?:access_|auth_)?token|sig|(?:x-amz-)?signature|secret)=)[^&\s'\"#]{8,}",
    ),
    SecretKind(
        "Slack webhook",
        ("hooks.slack.com/",),
        r"(?i)(?P<keep>hooks\.slack\.com/[a-z]{1,16}/)[A-Za-z0-9/_+-]+",
    ),
    SecretKind(
        "Discord webhook",
        ("/api/webhooks/",),
        r"(?i)(?P<keep>discord(?:app)?\.com/api/webhooks/)[0-9]{1,24}/[A-Za-z0-9_-]+",
    ),
    SecretKind(
        "Telegram bot",
        (":a",),
        r"(?:(?<=/bot)|(?<![A-Za-z0-9]))[0-9]{6,12}:(?=[A-Z0-9_-]{0,36}[a-z])(?=[a-z0-9_-]{0,36}[A-Z])"
        r"[A-Za-z0-9_-]{33,36}(?![A-Za-z0-9_-])",
    ),
    SecretKind("GitHub", _GITHUB, _START + r"gh[a-z]_[A-Za-z0-9]{8,}"),
    SecretKind("AWS access key ID", ("akia", "asia"), _START + r"A(?:KI|SI)A[0-9A-Z]{12,}"),
    SecretKind("Slack", ("xox",), _START + r"xox[a-z]-[A-Za-z0-9-]{6,}"),
    SecretKind("SendGrid", ("sg.",), _START + r"SG\.[A-Za-z0-9_-]{8,64}\.[A-Za-z0-9_-]{8,}"),
    SecretKind(
        "JSON Web Token",
        ("eyj",),
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
    ),
    *(
        SecretKind(
            name, (prefix.lower(),), f"{_START}{prefix.replace('.', '[.]')}{part}{{{least},}}"
        )
        for name, prefix, part, least in PREFIXES
    ),
)
