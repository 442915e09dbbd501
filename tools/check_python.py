"""Stop, before anything is installed, on a Python that the stack does not support."""

import sys

if not (3, 9) <= sys.version_info[:2] <= (3, 11):
    sys.exit(
        "error: this is Python {}.{}, but tensorflow 2.15.1 and tensorflow-addons "
        "0.23.0 run on Python 3.9, 3.10 and 3.11 only.\n"
        "Install one of these and name it: make {} PYTHON=python3.11".format(
            sys.version_info[0], sys.version_info[1], "demo"
        )
    )
