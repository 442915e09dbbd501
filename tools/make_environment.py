"""Make a virtual environment that the stack runs in: make_environment.py FOLDER.

TensorFlow 2.15.1 and TensorFlow Addons 0.23.0 need Python 3.9, 3.10 or 3.11. Where this
is another one, uv makes the environment with a Python 3.11 that it finds or fetches.
Written for any Python 3.6 and later, since it runs before anything is checked.
"""

import shutil
import subprocess
import sys
from pathlib import Path

FITTING = ((3, 9), (3, 11))
WANTED = "3.11"
UV = "uv==0.13.9"
UV_FOLDER = Path(".uv")  # where uv is put if the machine has none
HELP = (
    "error: {problem}\n"
    "Install Python " + WANTED + " (Debian and Ubuntu: python3.11 and "
    "python3.11-venv, macOS: brew install python@3.11) and name it: "
    "make demo PYTHON=python3.11"
)


def main(folder):
    """Make the environment, by this Python if it fits."""
    low, high = FITTING
    if low <= tuple(sys.version_info[:2]) <= high:
        run([sys.executable, "-m", "venv", folder], "this Python makes no environments")
        return
    version = ".".join(map(str, sys.version_info[:2]))
    print(f"This is Python {version}, and TensorFlow 2.15 runs on 3.9 to 3.11.")
    command = [find_uv(), "venv", "--python", WANTED, "--seed", "--allow-existing"]
    print(f"uv makes {folder} with Python {WANTED}, found or fetched.")
    run([*command, folder], f"uv found no Python {WANTED} and fetched none")


def find_uv():
    """Return the path of uv; install it into a folder of its own if there is none."""
    own = UV_FOLDER / "bin" / "uv"
    found = shutil.which("uv") or (str(own) if own.exists() else None)
    if found:
        return found
    print(f"Installing {UV} into {UV_FOLDER}.")
    problem = "no fitting Python here, and uv, which would fetch one, can't be had"
    run([sys.executable, "-m", "venv", str(UV_FOLDER)], problem)
    pip = [str(UV_FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    run([*pip, "--disable-pip-version-check", UV], problem)
    return str(own)


def run(command, problem):
    """Run a command; where it fails, end with what is wrong and what to install."""
    if subprocess.call(command):
        sys.exit(HELP.format(problem=problem))


if __name__ == "__main__":
    main(sys.argv[1])
