"""Who trains together and where each listens, as TF_CONFIG says it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tcnlm.common.errors import InputError

WAIT = 600  # seconds for the others to be there
CLUSTER = "TF_CONFIG"
KINDS = ("chief", "worker")  # in the order in which TensorFlow counts them
RIGHT = (
    '{"cluster": {"worker": ["HOST:PORT", "HOST:PORT"]}, '
    '"task": {"type": "worker", "index": 0}}'
)
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([\w.-]+)):([0-9]{1,5})", re.ASCII)


@dataclass(frozen=True)
class Cluster:
    """All workers, the chief first, and which of them this process is.

    addresses: (host, port) of each. leader: the first one's name for TensorFlow.
    """

    jobs: dict[str, int]
    addresses: tuple[tuple[str, int], ...]
    index: int

    @property
    def leader(self) -> str:
        """Return the first worker's name for TensorFlow."""
        return f"/job:{next(iter(self.jobs))}/task:0"

    def name(self, index: int) -> str:
        """Return how messages call a worker."""
        host, port = self.addresses[index]
        return f"worker {index} at {f'[{host}]' if ':' in host else host}:{port}"


def parse_cluster(text: str) -> Cluster | None:
    """Return the cluster of TF_CONFIG's JSON; raise InputError that says what is right.

    Of TensorFlow's kinds of tasks only a chief and workers train here. None where it
    names no others: platforms set it for one machine, too.
    """
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"no JSON ({error})") from None
    if isinstance(config, dict) and _is_alone(config.get("cluster")):
        return None
    cluster = _entry(config, "cluster", dict)
    task = _entry(config, "task", dict)
    unknown = sorted(set(cluster) - set(KINDS))
    if unknown:
        raise _wrong(f"only chief and worker train here, not {', '.join(unknown)}")
    listed = {kind: _addresses(cluster, kind) for kind in KINDS if kind in cluster}
    if len(listed.get("chief", ())) > 1:
        raise _wrong("there can be one chief only")
    addresses = tuple(address for each in listed.values() for address in each)
    _refuse_twice(addresses)
    index = _index(listed, task)
    return Cluster({k: len(each) for k, each in listed.items()}, addresses, index)


def _is_alone(cluster: Any) -> bool:
    """Whether there is no cluster, or one task in it, whatever its address."""
    if not isinstance(cluster, dict) or len(cluster) != 1:
        return cluster in (None, {})
    [(kind, listed)] = cluster.items()
    return kind in (*KINDS, "master") and isinstance(listed, list) and len(listed) == 1


def _wrong(reason: str) -> InputError:
    return InputError(f"{CLUSTER}: {reason}; right is for example {RIGHT}")


def _entry(config: Any, name: str, kind: type) -> Any:
    value = config.get(name) if isinstance(config, dict) else None
    if not isinstance(value, kind) or not value:
        raise _wrong(f"has no {name!r} that is an object of its entries")
    return value


def _addresses(cluster: dict[str, Any], kind: str) -> list[tuple[str, int]]:
    listed = cluster[kind]
    if not isinstance(listed, list) or not listed:
        raise _wrong(f"{kind!r} must be a list of addresses, not {_short(listed)}")
    return [_address(each) for each in listed]


def _address(text: Any) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
    if not found or not 1 <= int(found[3]) <= 65535:
        raise _wrong(
            f"{_short(text)} is no address HOST:PORT with a port from 1 to 65535"
        )
    return (found[1] or found[2]).lower(), int(found[3])


def _refuse_twice(addresses: tuple[tuple[str, int], ...]) -> None:
    [((host, port), times)] = Counter(addresses).most_common(1)
    if times > 1:
        raise _wrong(f"{host}:{port} stands there {times} times; each needs its own")


def _index(listed: dict[str, list], task: dict[str, Any]) -> int:
    """Return the place of a task among all, the chief first."""
    kind, index = task.get("type"), task.get("index")
    if not isinstance(kind, str) or kind not in listed:
        raise _wrong(f"the task's type must be {' or '.join(listed)}, not {kind!r}")
    number = int(index) if re.fullmatch("[0-9]{1,9}", str(index)) else -1
    if not 0 <= number < len(listed[kind]):
        last = len(listed[kind]) - 1
        raise _wrong(f"the task's index must be from 0 to {last}, not {_short(index)}")
    return number + (len(listed.get("chief", ())) if kind == "worker" else 0)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
