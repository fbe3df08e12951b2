from __future__ import annotations

import sys

import pytest

from isoglot.core import optional as parts
from isoglot.core.optional import PARTS, Part, import_part, version_of, versions
from tests.errors import raises


def test_versions_need_no_import():
    assert version_of("torch") is not None
    assert version_of("no-such-library") is None
    assert {"isoglot", "python", "torch", "numpy"} <= set(versions())


def test_a_missing_library_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(parts, "PARTS", (Part(extra="hf", libraries=("no_such_library",)),))
    with raises("missing-extra", "no_such_library"):
        import_part("no_such_library")


def test_a_library_that_is_there_is_imported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "PARTS", (Part(extra="x", libraries=("json",)),))
    assert import_part("json.decoder").__name__ == "json.decoder"


def test_install_lines():
    assert PARTS[0].install == "pip install 'isoglot[hf]'"
