"""The pages of rules, classes and topics, as ``rankscope explain`` prints them and ``docs/`` keeps them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..model.classes import CLASSES
from . import topics as package


@dataclass(frozen=True)
class Page:
    """One page: its name, the sentence it begins with, what it says, and the class it belongs to (empty for topics)."""

    name: str
    title: str
    body: str
    cls: str = ""


def page(name: str, docstring: str, cls: str = "") -> Page:
    """A docstring as a page: its first paragraph is the title."""
    title, _, body = docstring.strip().partition("\n\n")
    return Page(name, " ".join(title.split()), body.strip(), cls)


def topics() -> Iterator[Page]:
    """The pages that belong to no rule."""
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        yield page(info.name.replace("_", "-"), module.__doc__ or "")


def markdown(one: Page) -> str:
    """A page as it is kept and printed."""
    about = f"class: [{one.cls}](../classes.md#{one.cls})\n\n" if one.cls else ""
    return f"# {one.name}\n\n{one.title}\n\n{about}{one.body}\n"


def text(one: Page) -> str:
    """A page for a terminal: the same without links."""
    about = f"class: {one.cls}\n\n" if one.cls else ""
    return f"{one.name}: {one.title}\n\n{about}{one.body}\n"


def class_text(name: str, rules: Iterable[Page]) -> str:
    """What a class means, and all rules that recognise it."""
    mine = [one for one in rules if one.cls == name]
    head = f"{name}: {CLASSES[name]}\n"
    if not mine:
        return head + "\nNo rule recognises this class yet; it is named so that reports and other tools agree on it.\n"
    return head + "".join(f"\n{'-' * 72}\n{text(one)}" for one in mine)


def classes_markdown(rules: Iterable[Page]) -> str:
    """All classes with their rules: docs/classes.md."""
    pages = list(rules)
    out = [
        "# Classes of causes\n\nWhat a verdict can be called. `rankscope explain CLASS` prints the rules of a class.\n"
    ]
    for name, sentence in CLASSES.items():
        mine = [one for one in pages if one.cls == name]
        out.append(f"\n## {name}\n\n{sentence}\n")
        if mine:
            out.append("\n" + "".join(map(_item, mine)))
    guesses = "".join(_item(one) for one in pages if not one.cls)
    return "".join([*out, f"\n## Of any class\n\n{guesses}" if guesses else ""])


def _item(one: Page) -> str:
    return f"- [{one.name}](rules/{one.name}.md): {one.title}\n"


def overview(rules: Iterable[Page], others: Iterable[Page]) -> str:
    """What can be explained, one line each."""
    pages = list(rules)
    lines = ["classes (and the rules that recognise them)"]
    for name, sentence in CLASSES.items():
        lines.append(f"  {name:<30}{sentence}")
        lines.extend(f"    {one.name:<28}{one.title}" for one in pages if one.cls == name)
    if of_any := [one for one in pages if not one.cls]:
        lines.append("  of any class")
        lines.extend(f"    {one.name:<28}{one.title}" for one in of_any)
    lines.append("topics")
    lines.extend(f"  {one.name:<30}{one.title}" for one in others)
    return "\n".join(lines) + "\n"
