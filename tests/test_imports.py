"""How the rooms of the house hang together: who imports whom, and what when."""

import ast
import re
import subprocess
import sys

import pytest
import toy

from tcnlm.programs import launch

MODULES = {
    ".".join(path.relative_to(toy.ROOT).with_suffix("").parts): path
    for path in (toy.ROOT / "tcnlm").rglob("*.py")
}


def imported(name):
    """Return our modules that one imports anywhere in it, lazily too."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("tcnlm"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    return {f"{m}.__init__" if m not in MODULES else m for m in found} & MODULES.keys()


# From the ground up; what is in none, like tcnlm.topic_model, is on the roof.
FLOORS = """
common preprocessing coherence data drawing layers models runs generation metrics
training report run serving programs
""".split()


def floor(name):
    """Return the number of the floor that a module is on."""
    room = name.split(".")[1]
    return FLOORS.index(room) if room in FLOORS else len(FLOORS)


def test_no_import_runs_up():
    up = {(a, b) for a in MODULES for b in imported(a) if floor(b) > floor(a)}
    assert not up


def test_no_module_imports_itself_in_a_circle():
    graph = {name: imported(name) for name in MODULES}
    while graph:
        free = {name for name, needs in graph.items() if not needs & graph.keys()}
        assert free, f"a circle among {sorted(graph)}"
        graph = {name: needs for name, needs in graph.items() if name not in free}


PROGRAMS = ", ".join(sorted(launch.PROGRAMS.keys() - {"preprocess"}))


@pytest.mark.parametrize(
    ("work", "unwanted"),
    [
        ("tcnlm.load('{run}')", "gensim nltk tensorflow_addons matplotlib"),
        ("import tcnlm.programs.train", "gensim nltk scipy.stats matplotlib"),
        ("import tcnlm.report.evaluate_run", "gensim nltk scipy.stats"),
        ("import tcnlm.programs.preprocess", "tensorflow gensim nltk"),
        ("import tcnlm.metrics.registry", "tensorflow matplotlib nltk sklearn"),
        (
            f"from tcnlm.programs import {PROGRAMS}\n"
            f"for each in ({PROGRAMS}): each.parser().format_help()",
            "tensorflow pandas nltk gensim matplotlib jinja2",
        ),
    ],
)
def test_a_package_is_imported_only_by_what_needs_it(work, unwanted):
    program = f"import sys, tcnlm\n{work.format(run=toy.GOLDEN_RUN)}\n"
    program += f"print([name for name in {unwanted.split()} if name in sys.modules])"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, cwd=toy.ROOT)
    assert result.stdout.strip() == "[]", result.stderr


def test_nothing_but_lazy_adam_imports_tensorflow_addons():
    """No other function and no module names it, however it would import it."""
    naming = re.compile("tensorflow_addons|tfa")
    named = {name for name, path in MODULES.items() if naming.search(path.read_text())}
    assert named == {"tcnlm.layers.optimization"}
    tree = ast.parse(MODULES["tcnlm.layers.optimization"].read_text())
    parts = [part for part in tree.body if naming.search(ast.unparse(part))]
    assert [part.name for part in parts] == ["_lazy_adam"]


def test_graphs_are_made_without_autograph():
    files = sorted((toy.ROOT / "tcnlm").rglob("*.py"))
    made = [f.name for f in files if re.search(r"tf\.function\b[(\n]", f.read_text())]
    assert made == ["tf_function.py"]


def test_no_test_file_imports_another():
    for path in (toy.ROOT / "tests").glob("test_*.py"):
        found = re.findall(r"^(?:from|import) test_\w+", path.read_text(), re.M)
        assert not found, f"{path.name}: what two need is in a module of its own"
