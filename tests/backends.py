"""Which host backends this machine can run: the plain process one needs a Python 3.13 of the machine's own."""

from __future__ import annotations

from functools import cache

from sandbox import BackendName, find_runtime


@cache
def host_backends() -> tuple[BackendName, ...]:
    """Both, or bubblewrap alone where set-up made a Debian root because the machine has no interpreter."""
    return ("bubblewrap",) if find_runtime().interpreter is None else ("process", "bubblewrap")


def quickest() -> BackendName:
    """The backend for tests of what comes after the sandbox."""
    return host_backends()[0]
