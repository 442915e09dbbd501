"""How the rooms of the house hang together: who imports whom, and what when."""

import ast
import re
import subprocess
import sys

import pytest
import toy

MODULES = {
    ".".join(path.relative_to(toy.ROOT).with_suffix("").parts): path
    for path in (toy.ROOT / "tcnlm").rglob("*.py")
}


def imported(name):
    """Return the modules of tcnlm that one imports anywhere in it, lazily too."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tcnlm"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    return {f"{m}.__init__" if m not in MODULES else m for m in found} & MODULES.keys()


def test_no_module_imports_itself_in_a_circle():
    graph = {name: imported(name) for name in MODULES}
    while graph:
        free = {name for name, needs in graph.items() if not needs & graph.keys()}
        assert free, f"a circle among {sorted(graph)}"
        graph = {name: needs for name, needs in graph.items() if name not in free}


@pytest.mark.parametrize(
    ("work", "unwanted"),
    [
        ("tcnlm.load('{run}')", ("gensim", "nltk", "tensorflow_addons", "matplotlib")),
        ("import tcnlm.train", ("gensim", "nltk", "scipy.stats", "matplotlib")),
        ("import tcnlm.evaluation.evaluate", ("gensim", "nltk", "scipy.stats")),
        ("import tcnlm.coherence", ("tensorflow", "gensim")),
        ("import tcnlm.serve", ("tensorflow", "gensim")),
        ("import preprocessing.__main__", ("tensorflow", "gensim", "nltk")),
        ("import tcnlm.evaluation.documents", ("tensorflow", "gensim")),
        ("import tcnlm.evaluation.classification", ("tensorflow", "sklearn")),
    ],
)
def test_a_package_is_imported_only_by_what_needs_it(work, unwanted):
    run = toy.ROOT / "tests" / "old_runs" / "lstm"
    program = f"import sys, tcnlm\n{work.format(run=run)}\n"
    program += f"print([name for name in {unwanted} if name in sys.modules])"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, cwd=toy.ROOT)
    assert result.stdout.strip() == "[]", result.stderr


def test_graphs_are_made_without_autograph():
    files = sorted((toy.ROOT / "tcnlm").rglob("*.py"))
    made = [f.name for f in files if re.search(r"tf\.function\b[(\n]", f.read_text())]
    assert made == ["graphs.py"]
