"""The tables of docs/RESULTS.md are those of the studies in results/."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_tables_of_the_page_are_those_of_the_studies():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from result_tables import BLOCK, filled  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    page = (ROOT / "docs" / "RESULTS.md").read_text(encoding="utf-8")
    assert len(BLOCK.findall(page)) >= 5
    assert filled(page) == page, "python scripts/result_tables.py"
    assert filled(page.replace("| Default | ", "| Default | 1")) == page
