"""What a test of programs in a tree leaves of it: all as it was, and no mount."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from real_runs import wait_until
from trees import contents, mount_namespaces, mounts


@contextmanager
def left_alone(tree: Path) -> Iterator[None]:
    """See that a tree stays as it was and that no mount is left."""
    before, mounted, namespaces = contents(tree), mounts(), mount_namespaces()
    yield
    assert contents(tree) == before
    assert mounts() == mounted
    assert wait_until(lambda: mount_namespaces() <= namespaces, patience_s=30)
