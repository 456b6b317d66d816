"""Answers of servers that are asked over HTTP: as long as an answer can be, and no longer.

Who asks waits by `aside`, which bounds the time of the whole of it. A server that says a byte now
and then keeps each wait of a socket short.
"""

from __future__ import annotations

from collections.abc import Iterable
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import requests

LONGEST = 64 << 20
"""Bytes of an answer; a configuration that is read back has a few of these."""
PIECE = 1 << 16


def whole(pieces: Iterable[bytes]) -> bytes:
    """Return what comes piece by piece; raises `OSError` where it is longer than an answer is."""
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) > LONGEST:
            raise OSError(f"its answer is longer than {LONGEST >> 20} MiB")
    return bytes(found)


def body_of(answer: HTTPResponse) -> bytes:
    """Return the body of an answer; raises as the response does, and `OSError` as `whole` does."""
    if answer.length is not None and answer.length <= LONGEST:
        return answer.read()  # which sees that all came that was announced
    return whole(iter(lambda: answer.read(PIECE), b""))


def bound(session: requests.Session, patience_s: float) -> requests.Session:
    """Have a session give up in time and on long answers, and never ask twice.

    What was sent once may have been carried out.
    """
    import requests.adapters

    class Bounded(requests.adapters.HTTPAdapter):
        def send(self, *args: Any, **options: Any) -> Any:
            later = {**options, "stream": True, "timeout": patience_s}
            answer = super().send(*args, **later)
            try:
                answer._content = whole(answer.iter_content(PIECE))
            except BaseException:
                answer.close()
                raise
            return answer

    for scheme in ("http://", "https://"):
        session.mount(scheme, Bounded(max_retries=0))
    return session


class BoundedRequests:
    """The module `requests`, for a library that calls its functions: each answer is bounded."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s

    def __getattr__(self, name: str) -> Any:
        import requests

        return getattr(requests, name)

    def request(self, method: str, url: str, **options: Any) -> Any:
        """Ask as `requests.request` does, by a connection of its own."""
        import requests

        with requests.Session() as session:
            return bound(session, self._patience_s).request(method, url, **options)

    def get(self, url: str, params: Any = None, **options: Any) -> Any:
        return self.request("GET", url, params=params, **options)

    def delete(self, url: str, **options: Any) -> Any:
        return self.request("DELETE", url, **options)

    def post(self, url: str, data: Any = None, **options: Any) -> Any:
        return self.request("POST", url, data=data, **options)

    def put(self, url: str, data: Any = None, **options: Any) -> Any:
        """Put something into the place of what is there."""
        return self.request("PUT", url, data=data, **options)
