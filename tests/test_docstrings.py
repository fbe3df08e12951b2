"""What every public name says of itself: a line, its parameters, what it returns and, where it can be short, an example."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import isoglot

# They need files, a trained encoder or minutes: the guides and tutorials run them.
WITHOUT_EXAMPLE = set(
    """
    align.aligned_rows
    compare.measure_figure7
    compare.trace_emergence
    pretrain.add_language
    transfer.map_transfer
    transfer.shift_transfer
    """.split()
)
# Settings, and what other functions return: their examples show them.
RESULTS = set(
    """
    align.EncoderAligner
    compare.Comparison
    diagnose.Checkup
    diagnose.Ranking
    static.Learned
    steer.MaskedLanguages
    steer.Sweep
    transfer.Tuned
    """.split()
)


def public() -> Iterator[tuple[str, Any]]:
    """Every public function and class, once."""
    rooms = ["isoglot", *(f"isoglot.{module.name}" for module in iter_modules(isoglot.__path__) if module.ispkg)]
    seen = set()
    for room in reversed(rooms):  # a room before the package that offers the same name
        module = import_module(room)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if (inspect.isfunction(value) or inspect.isclass(value)) and id(value) not in seen:
                seen.add(id(value))
                yield f"{room.removeprefix('isoglot.')}.{name}", value


PUBLIC = dict(public())
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}


def sections(value: Any) -> dict[str, str]:
    """The sections of a docstring by their name; what stands before them has none."""
    text = inspect.cleandoc(value.__doc__ or "")
    parts = re.split(r"^(Args|Returns|Yields|Raises|Attributes):\n", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def test_there_are_public_names() -> None:
    assert len(FUNCTIONS) > 120
    assert len(PUBLIC) > 230


@pytest.mark.parametrize("name", PUBLIC)
def test_the_first_line_says_what_it_is(name: str) -> None:
    first, _, rest = (PUBLIC[name].__doc__ or "").strip().partition("\n")
    assert first.endswith((".", ":")), first
    assert len(first) <= 120
    assert not rest.strip() or rest.startswith("\n"), "an empty line follows the first"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_and_results_are_described(name: str) -> None:
    value, said = FUNCTIONS[name], sections(FUNCTIONS[name])
    described = {
        each.strip(" *")
        for names in re.findall(r"^ {4}([\w*, ]+):", said.get("Args", ""), re.MULTILINE)
        for each in names.split(",")
    }
    assert [each for each in inspect.signature(value).parameters if each not in described] == []
    if inspect.signature(value).return_annotation not in {None, "None", "Iterator[None]"}:
        assert {"Returns", "Yields"} & set(said)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_raised_is_described(name: str) -> None:
    body = ast.parse(textwrap.dedent(inspect.getsource(FUNCTIONS[name])))
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(body))
    assert not raises or "Raises" in sections(FUNCTIONS[name])


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if dataclasses.is_dataclass(value)])
def test_fields_are_described(name: str) -> None:
    """In the docstring of the class, or in a string below the field."""
    [kind] = ast.parse(textwrap.dedent(inspect.getsource(PUBLIC[name]))).body
    assert isinstance(kind, ast.ClassDef)
    known = {each.name for each in dataclasses.fields(PUBLIC[name]) if not each.name.startswith("_")}
    for node, after in itertools.pairwise([*kind.body, None]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in known:
            below = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            assert below or re.search(rf"\b{node.target.id}\b", PUBLIC[name].__doc__ or ""), node.target.id


@pytest.mark.parametrize("name", PUBLIC)
def test_there_is_an_example_where_it_can_be_short(name: str) -> None:
    own = inspect.cleandoc(PUBLIC[name].__doc__ or "")
    below = "".join(inspect.getdoc(each) or "" for _, each in inspect.getmembers(PUBLIC[name], inspect.isfunction))
    has = ">>>" in own or (inspect.isclass(PUBLIC[name]) and ">>>" in below)
    assert has != (name in WITHOUT_EXAMPLE | RESULTS), "an example that runs, or its name in the list above; not both"
