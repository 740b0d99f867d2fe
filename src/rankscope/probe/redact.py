"""Arguments that look like credentials never leave the process table: by the name that stands before them, or by their shape."""

from __future__ import annotations

import re

_WORDS = (
    r"pass(?:word|wd|phrase)?|secret|token(?!i[sz])|api[-_]?key|credential|auth(?!ors?(?![a-z]))|private[-_]?key|access[-_]?key"
    r"|bearer|signature"
)
_OPTION = re.compile(rf"(?i)[-+]*[\w.-]*(?:{_WORDS})[\w.-]*")
# ``Authorization: Bearer x``, ``"hf_token": "x"``, ``TOKEN=x; run``: a name, a colon or equals sign, and its value up to the
# end of its quotes, else of its word. Names have a bound, so that a long argument takes no long time.
_PAIR = re.compile(
    rf"(?i)((?:{_WORDS})[\w.-]{{0,40}}\\*[\"']?\s{{0,9}}[:=]\s{{0,9}})((?:bearer|basic|digest|token)\s+)?"
    r"(\\*\"[^\"]*\"?|\\*'[^']*'?|[^\s,;&\"'})\]]+)"
)
_URL = re.compile(r"(\w{1,20}://[^/\s:@]{0,100}:)[^@/\s]+@")
# Beginnings that their makers publish so that leaked ones are found: Hugging Face, GitHub, GitLab, OpenAI and Anthropic, Slack,
# AWS (access key ids), Google, npm, PyPI; three parts in base64 are a JSON Web Token (RFC 7519).
_SHAPES = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[A-Za-z0-9_-]{16,}"
    r"|xox[abeoprs]-[\w-]{8,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|npm_[A-Za-z0-9]{30,}"
    r"|pypi-[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
_LIMIT = 4096


def redact(command: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments with what looks like a credential replaced; long ones are cut."""
    out: list[str] = []
    hide = False
    for argument in command:
        name, equals, _ = argument[:_LIMIT].partition("=")
        if hide and not argument.startswith("-"):
            argument, hide = "***", False
        elif _OPTION.fullmatch(name) and (argument.startswith("-") or equals):
            hide = not equals
            argument = f"{name}=***" if equals else argument
        else:
            hide = False
        out.append(_within(argument[:_LIMIT]))
    return tuple(out)


def _within(text: str) -> str:
    """A text of any kind: a header, an object of JSON, a script, an address."""
    text = _PAIR.sub(_hidden, text)
    return _SHAPES.sub("***", _URL.sub(r"\1***@", text))


def _hidden(pair: re.Match[str]) -> str:
    """The same pair with its value replaced; what was between quotes stays between them."""
    name, kind, value = pair.groups()
    quote = next((mark for mark in ('\\"', "\\'", '"', "'") if value.startswith(mark)), "")
    return f"{name}{kind or ''}{quote}***{quote}"
