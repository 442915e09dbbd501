"""One code on every TensorFlow: its Keras 2, and a quiet import."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import PackageNotFoundError, version
from typing import Any

CHOICE = "TF_USE_LEGACY_KERAS"  # read by TensorFlow when its Keras is first used
NOTICE = rb"WARNING: All log messages before absl|I\d{4} \d\d:"


def choose_keras() -> None:
    """Let `tf.keras` be Keras 2, or raise ImportError, as where Keras 3 is in use."""
    if not _is_apart():
        return
    wanted = ".".join(map(str, _minor("tensorflow")))
    if _minor("tf-keras") != _minor("tensorflow"):
        raise ImportError(
            f"tcnlm needs Keras 2, which TensorFlow {wanted} takes from a tf-keras of "
            f"the same minor version: pip install tf-keras~={wanted}.0"
        )
    os.environ[CHOICE] = "1"
    loaded = sys.modules.get("tensorflow")
    if loaded is None:
        sys.meta_path.insert(0, _QuietImport())
    elif not loaded.keras.__name__.startswith("tf_keras"):
        raise ImportError(
            f"tcnlm needs Keras 2, but Keras 3 is in use: import tcnlm before "
            f"TensorFlow, or set {CHOICE}=1"
        )


def keras_version() -> str:
    """Return the version of the Keras 2 that is used."""
    return version("tf-keras" if _is_apart() else "keras")


def _is_apart() -> bool:
    tensorflow = _minor("tensorflow")
    return tensorflow is not None and tensorflow >= (2, 16)


def _minor(package: str) -> tuple[int, ...] | None:
    try:
        return tuple(map(int, version(package).split(".")[:2]))
    except PackageNotFoundError:
        return None


class _QuietImport:
    """Finds TensorFlow, whose import tells of processors whatever the log level is."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """Return TensorFlow's specification, with an import that is quiet."""
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name)
        if spec is not None:
            # A context manager decorates functions too.
            spec.loader.exec_module = _without_notices()(spec.loader.exec_module)
        return spec


@contextlib.contextmanager
def _without_notices() -> Iterator[None]:
    """Keep C++ code's notices, but nothing else, from standard error."""
    with tempfile.TemporaryFile() as aside:
        stderr = os.dup(2)
        os.dup2(aside.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            aside.seek(0)
            kept = [line for line in aside if not re.match(NOTICE, line)]
            os.write(2, b"".join(kept))
