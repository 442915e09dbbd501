"""Keras 2 under every TensorFlow: its own up to 2.15, the package tf-keras later."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version

CHOICE = "TF_USE_LEGACY_KERAS"  # read by TensorFlow when its Keras is first used


def choose_keras() -> None:
    """Let `tf.keras` be Keras 2.

    Raises ImportError where it cannot: without a tf-keras of TensorFlow's own minor
    version, or where Keras 3 is in use already.
    """
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
    if loaded is not None and not loaded.keras.__name__.startswith("tf_keras"):
        raise ImportError(
            f"tcnlm needs Keras 2, but Keras 3 is in use: import tcnlm before "
            f"TensorFlow, or set {CHOICE}=1"
        )


def keras_version() -> str:
    """Return the version of the Keras 2 that is used."""
    return version("tf-keras" if _is_apart() else "keras")


def _is_apart() -> bool:
    """Whether the Keras that comes with TensorFlow is no Keras 2."""
    tensorflow = _minor("tensorflow")
    return tensorflow is not None and tensorflow >= (2, 16)


def _minor(package: str) -> tuple[int, ...] | None:
    """Return a package's major and minor version, None where it is not installed."""
    try:
        return tuple(map(int, version(package).split(".")[:2]))
    except PackageNotFoundError:
        return None
