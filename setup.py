"""What pip installs is one package: preprocessing/ lies in tcnlm/ there.

At the top of a site its name could clash with another package's. Here, and where the
project is installed to be edited (`pip install --editable`), it stays at the top.
"""

import re
import sys
from pathlib import Path

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

OURS = find_namespace_packages(include=["tcnlm*"])
EDITED = {"packages": [*OURS, "preprocessing"]}
INSTALLED = {
    "packages": [*OURS, "tcnlm.preprocessing"],
    "package_dir": {"tcnlm.preprocessing": "preprocessing"},
}
NAMED = re.compile(r'(\b(?:from|import) |-m |"-m", ")preprocessing\b')


class Build(build_py):
    """Copies the modules, with preprocessing called by where it is."""

    def build_module(self, module, module_file, package):
        """Copy one; return setuptools' path of the copy and whether it was made."""
        file, made = super().build_module(module, module_file, package)
        text = NAMED.sub(r"\1tcnlm.preprocessing", Path(file).read_text("utf-8"))
        Path(file).write_text(text, "utf-8")
        return file, made


editable = "editable_wheel" in sys.argv
setup(cmdclass={"build_py": Build}, **(EDITED if editable else INSTALLED))
