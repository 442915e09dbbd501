"""The tutorial: what it shows is what it makes, and it runs.

After a change: jupyter execute --inplace notebooks/tutorial.ipynb
"""

import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
import toy

FILE = toy.ROOT / "notebooks" / "tutorial.ipynb"
SHOWN = nbformat.read(FILE, as_version=4)
CODE = [cell for cell in SHOWN.cells if cell.cell_type == "code"]


def kinds(cells):
    """Return the kinds of what each cell puts out, in whatever pieces it came."""
    return [sorted({output.output_type for output in cell.outputs}) for cell in cells]


def test_the_tutorial_is_kept_as_it_ran_from_top_to_bottom():
    assert [cell.execution_count for cell in CODE] == [*range(1, len(CODE) + 1)]
    assert not {kind for found in kinds(CODE) for kind in found} & {"error"}
    pictures = [o for cell in CODE for o in cell.outputs if "image/png" in str(o)]
    assert len(pictures) >= 3
    assert FILE.stat().st_size < 200_000


def test_every_link_of_the_tutorial_leads_somewhere():
    prose = [cell.source for cell in SHOWN.cells if cell.cell_type == "markdown"]
    links = re.findall(r"\]\(([^)\s#]+)", " ".join(prose))
    assert len(links) > 5
    assert all((FILE.parent / link).exists() for link in links)


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path, monkeypatch):
    from nbclient import NotebookClient

    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([programs, os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(toy.ROOT))
    again = nbformat.read(FILE, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(again, timeout=1200, resources=place).execute()
    assert kinds(c for c in again.cells if c.cell_type == "code") == kinds(CODE)
    for page in ("stories/report.html", "lda/report.html", "both.html"):
        assert "</html>" in (tmp_path / "runs" / page).read_text()
