"""Ways to damage a file, disks that are all but full, and what a folder then has."""

import random
import resource
from contextlib import contextmanager

DAMAGES = {
    "truncated": lambda content: content[: len(content) // 2],
    "cut off by a byte": lambda content: content[:-2],
    "empty": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "a list": lambda content: b"[]",
    "an object": lambda content: b"{}",
    "not UTF-8": lambda content: b"\xff\xfe" + content,
    "a picture": lambda content: b"\x89PNG\r\n\x1a\n" + bytes(64),
    "missing": None,
}


def damage(path, name):
    """Damage a file in the way of this name."""
    if DAMAGES[name]:
        path.write_bytes(DAMAGES[name](path.read_bytes()))
    else:
        path.unlink()


def flip(path, seed):
    """Change a bit of a file at a place that the seed draws; return the place."""
    content, draw = bytearray(path.read_bytes()), random.Random(seed)
    place = draw.randrange(len(content))
    content[place] ^= 1 << draw.randrange(8)
    path.write_bytes(bytes(content))
    return place


@contextmanager
def room_for(size):
    """Let no file be larger than so many bytes, as on a disk that is all but full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    written = {path.relative_to(folder): path.read_bytes() for path in files}
    return {k: v for k, v in written.items() if "tensorboard" not in k.parts}
