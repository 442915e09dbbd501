"""Make the virtual environment of a stack: make_environment.py FOLDER [STACK].

A stack is the versions of one lock file in locks/: "pinned" those that the project is
named for (TensorFlow 2.15.1, Python 3.9 to 3.11), "current" this year's (2.21.0, Python
3.11 to 3.13). By default the one of the Python that runs this. Where that does not fit,
uv makes the environment with one that it finds or fetches. Written for any Python 3.6
and later, since it runs before anything is checked.
"""

import shutil
import subprocess
import sys
from pathlib import Path

# The Pythons that each runs on, and the one that uv is asked for.
STACKS = {
    "pinned": ("TensorFlow 2.15", (3, 9), (3, 11), "3.11"),
    "current": ("TensorFlow 2.21", (3, 11), (3, 13), "3.13"),
}
ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.9"
UV_FOLDER = Path(".uv")  # where uv is put if the machine has none
HELP = (
    "error: {problem}\n"
    "Install Python {wanted} (Debian and Ubuntu: python{wanted} and "
    "python{wanted}-venv, macOS: brew install python@{wanted}) and name it: "
    "make demo PYTHON=python{wanted}"
)


def main(folder, stack=""):
    """Make the environment, by this Python if it fits, and install its lock file."""
    python = tuple(sys.version_info[:2])
    stack = stack or ("pinned" if python <= STACKS["pinned"][2] else "current")
    if stack not in STACKS:
        sys.exit(f"error: STACK={stack}: must be {' or '.join(STACKS)}")
    tensorflow, low, high, wanted = STACKS[stack]
    uv = find_uv()
    if low <= python <= high:
        command = [sys.executable, "-m", "venv", folder]
        run(command, "this Python makes no environments", wanted)
    else:
        print(f"This is Python {_text(python)}, and {tensorflow} runs on "
              f"{_text(low)} to {_text(high)}.")  # fmt: skip
        print(f"uv makes {folder} with Python {wanted}, found or fetched.")
        command = [uv or "uv", "venv", "--python", wanted, "--seed"]
        problem = f"uv found no Python {wanted} and fetched none"
        run([*command, "--allow-existing", folder], problem, wanted)
    install(folder, stack, wanted, uv)


def _text(version):
    return ".".join(map(str, version))


def install(folder, stack, wanted, uv):
    """Install what the lock file names, and this project so that it is edited here.

    By uv, in half the time, or by pip where uv is missing or fails (a mirror that only
    pip knows).
    """
    python = str(Path(folder, "bin", "python"))
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    lock = ["--require-hashes", "-r", str(ROOT / "locks" / (stack + ".txt"))]
    options = ["pip", "install", "--quiet", "--python", python]
    if not uv or subprocess.call([uv, *options, *lock]):
        run([*pip, *lock], "pip failed, see above", wanted)
    here = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    run([*pip, *here], "pip failed, see above", wanted)
    Path(folder, "stack").write_text(stack + "\n")


def find_uv():
    """Return the path of uv, put into a folder of its own if need be, or None."""
    own = UV_FOLDER / "bin" / "uv"
    if shutil.which("uv") or own.exists():
        return shutil.which("uv") or str(own)
    pip = [str(UV_FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    made = [sys.executable, "-m", "venv", str(UV_FOLDER)]
    missing = subprocess.call(made) or subprocess.call(
        [*pip, "--disable-pip-version-check", UV]
    )
    return None if missing else str(own)


def run(command, problem, wanted):
    """Run a command; where it fails, end with what is wrong and what to install."""
    try:
        failed = subprocess.call(command)
    except OSError:
        failed = True
    if failed:
        sys.exit(HELP.format(problem=problem, wanted=wanted))


if __name__ == "__main__":
    main(*sys.argv[1:])
