"""E-mail (RFC 5322, also several in an mbox) whose parts are encoded (RFC 2045): the lines of the parts that are text.

One whose parts are written as they are is read as any other text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..model.patterns import regex
from .collected import Collected, each_line
from .files import is_text

if TYPE_CHECKING:
    from email.message import Message

_FIRST = regex(
    rb"(?:From [^\s:]+ |(?:From|To|Date|Subject|Received|Return-Path|Delivered-To|Message-ID|MIME-Version): )",
)
_ENCODED = regex(rb"(?mi)^Content-Transfer-Encoding:[ \t]*(?:base64|quoted-printable)\b")
_NEXT = regex(rb"(?m)^(?=From \S+ [^\n]*\d{4}\s*$)")  # of an mbox


def recognises(head: bytes) -> bool:
    """Does a file begin like an e-mail, and has it parts that are encoded?"""
    return bool(_FIRST.match(head)) and bool(_ENCODED.search(head))


def written(data: bytes) -> tuple[list[Collected], list[str]]:
    """What the letters say, in their order, and the parts of them that are no text."""
    said: list[Collected] = []
    left: list[str] = []
    for part in _parts(data):
        held = part.get_payload(decode=True)
        if not isinstance(held, bytes):
            continue
        if part.get_content_type() == "text/html" or not is_text(held[: 64 << 10]):
            left.append(part.get_filename() or part.get_content_type())
        else:
            said.extend(each_line(held.decode("utf-8", "replace")))
    return said, left


def _parts(data: bytes) -> Iterator[Message]:
    from email import message_from_bytes  # a thirtieth of a second that few files are worth

    for letter in _NEXT.split(data):
        if letter.strip():
            yield from (part for part in message_from_bytes(letter).walk() if not part.is_multipart())
