"""A real HTTP server on this machine that speaks both providers' protocols, with every temper that a test asks for."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from tests.judge.scored_kit import MODEL, reply

Protocol = Literal["openai", "anthropic"]
Temper = Callable[["Handler"], None]


def completion(words: Any = None, **changes: Any) -> dict[str, Any]:
    """A chat completion that holds a good reply, but for the changes."""
    text = words if isinstance(words, str) else json.dumps(words or reply())
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
    } | changes


def message(words: Any = None, **changes: Any) -> dict[str, Any]:
    """A message that holds a good reply, but for the changes."""
    text = words if isinstance(words, str) else json.dumps(words or reply())
    return {
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 900, "cache_read_input_tokens": 100, "output_tokens": 50},
    } | changes


def good(protocol: Protocol, words: Any = None, **changes: Any) -> dict[str, Any]:
    """Either, by protocol."""
    return completion(words, **changes) if protocol == "openai" else message(words, **changes)


@dataclass
class Server:
    """What was asked, and how the next questions are answered."""

    temper: Temper = field(default=lambda handler: None)
    asked: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    address: str = ""

    def answers(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """From now on, this body with this status."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.temper = lambda handler: handler.send(body, status, headers or {})


class Handler(BaseHTTPRequestHandler):
    """Notes the question, and answers by the server's temper."""

    state: Server

    def do_POST(self) -> None:
        """One question."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        self.state.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
        with contextlib.suppress(OSError):  # whoever asked may have gone
            self.state.temper(self)

    def send(self, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """A whole answer."""
        self.begin(status, {"content-length": str(len(body))} | (headers or {}))
        self.wfile.write(body)

    def begin(self, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """An answer's head."""
        self.send_response(status)
        for name, value in (
            {"content-type": "application/json", "x-request-id": "req-1", "request-id": "req-1"} | (headers or {})
        ).items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A server on a free port of the loopback, for as long as the test takes."""
    state = Server()
    handler = type("Bound", (Handler,), {"state": state})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.daemon_threads = True
        state.address = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            state.over.set()
            http.shutdown()
            thread.join()
