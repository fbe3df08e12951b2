"""The server answers its own page alone."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

import isoglot
from isoglot.explore.server import (
    LARGEST_BODY,
    REQUESTS_A_SECOND,
    NewestFirst,
    RateLimit,
    SupersededError,
    make_app,
    serve,
)
from tests.errors import raises

pytest.importorskip("starlette")

TOKEN = "of-a-test"  # noqa: S105 - of no server
TURN: dict[str, Any] = {"text": "The dog sleeps.", "source": "en", "targets": [{"language": "de", "alpha": 2.5}]}


@pytest.fixture
def app(mini):
    return make_app([mini], token=TOKEN, hosts=["127.0.0.1:1234", "localhost:1234"])


class Answer(NamedTuple):
    status_code: int
    headers: dict[str, str]
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


def send(
    app: Any,
    method: str,
    path: str,
    *,
    host: str = "127.0.0.1:1234",
    token: str | None = TOKEN,
    headers: dict[str, str] | None = None,
    content: bytes = b"",
) -> Answer:
    """One request, straight to the application, its path as it stands."""
    given = {"host": host, **({"x-isoglot-token": token} if token else {}), **(headers or {})}
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    sent: list[Any] = []
    parts = iter([content])

    async def receive() -> dict[str, Any]:
        part = next(parts, None)
        if part is None:
            await asyncio.sleep(60)  # the page stays open
        return {"type": "http.request", "body": part, "more_body": False}

    async def take(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, take))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent[1:]).decode())


def test_the_page_and_a_view(app):
    page = send(app, "GET", f"/?token={TOKEN}", token=None)
    assert page.status_code == 200
    assert "<h1>isoglot</h1>" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert send(app, "GET", "/explore.js", token=None).headers["content-type"].startswith("text/javascript")
    assert send(app, "GET", "/api/models").json()["models"][0]["name"] == "isoglot-mini"
    assert send(app, "POST", "/api/turn", content=json.dumps(TURN).encode()).json()["output"] == str(
        isoglot.translate(TURN["text"], "en", "de", alpha=2.5)
    )


@pytest.mark.parametrize(
    ("path", "options", "status"),
    [
        ("/", {"token": None}, 403),
        ("/?token=wrong", {"token": None}, 403),
        ("/api/models", {"token": None}, 403),
        ("/api/models", {"token": "wrong"}, 403),
        (f"/api/models?token={TOKEN}", {"token": None}, 403),  # an address can be sent from another site, a header not
        ("/api/models", {"host": "evil.example"}, 421),  # DNS rebinding
        ("/api/models", {"host": "127.0.0.1:99"}, 421),
        ("/api/models", {"headers": {"origin": "http://evil.example"}}, 403),
        ("/api/models", {"headers": {"origin": "null"}}, 403),
        ("/api/models", {"headers": {"sec-fetch-site": "cross-site"}}, 403),
        ("/explore.js", {"host": "evil.example"}, 421),
        ("/..%2fserver.py", {}, 404),
        ("/../server.py", {}, 404),
        ("/%2e%2e/server.py", {}, 404),
        ("/__init__.py", {}, 404),
    ],
)
def test_everything_else_is_refused(app, path, options, status):
    assert send(app, "GET", path, **options).status_code == status


def test_its_own_origin_is_allowed(app):
    assert send(app, "GET", "/api/models", headers={"origin": "http://localhost:1234"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"[]", 422),
        (b"\xff", 422),
        (b'{"text": "a", "source": "en", "model": 7}', 422),
        (b'{"text": "a", "source": "sw"}', 422),
        (b'{"text": "a", "source": "en", "layer": 99}', 422),
        (b'{"text": "' + b"a" * LARGEST_BODY + b'", "source": "en"}', 413),
    ],
)
def test_bad_requests_get_one_line(app, body, status):
    found = send(app, "POST", "/api/turn", content=body)
    assert found.status_code == status
    assert 0 < len(found.json()["error"]) < 400


def test_unpaired_surrogates_come_back(app):
    found = send(app, "POST", "/api/turn", content=b'{"text": "a \\ud83d b", "source": "en"}')
    assert found.status_code in (200, 422)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "nosuch.invalid"])  # noqa: S104 - refused
def test_addresses_that_cannot_be_used(mini, host):
    with raises("config.invalid-value", host):
        serve([mini], host=host, port=0, token=TOKEN, ready=pytest.fail)


def test_a_port_that_is_taken(mini):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with raises("config.invalid-value", str(port)):
            serve([mini], host="127.0.0.1", port=port, token=TOKEN, ready=pytest.fail)


def test_no_such_view(app):
    assert send(app, "POST", "/api/files", content=b"{}").status_code == 404
    assert send(app, "GET", "/api/turn").status_code == 405


def test_a_newer_request_replaces_the_older():
    passes, ran = NewestFirst(), []

    async def run() -> Any:
        begun, go = threading.Event(), threading.Event()

        def slow(check):
            begun.set()
            go.wait(10)
            check()
            ran.append("slow")

        first = asyncio.ensure_future(passes.run("page turn", slow))
        await asyncio.to_thread(begun.wait, 10)
        second = asyncio.ensure_future(passes.run("page turn", lambda _: ran.append("second")))
        third = asyncio.ensure_future(passes.run("page turn", lambda _: ran.append("third")))
        other = asyncio.ensure_future(passes.run("another page turn", lambda _: ran.append("other")))
        await asyncio.sleep(0.05)
        go.set()
        return await asyncio.gather(first, second, third, other, return_exceptions=True)

    found = asyncio.run(run())
    assert [type(each) for each in found[:2]] == [SupersededError] * 2
    assert ran == ["third", "other"]


def test_too_many_requests_wait():
    limit = RateLimit(REQUESTS_A_SECOND)
    assert sum(limit.allows() for _ in range(REQUESTS_A_SECOND * 3)) <= REQUESTS_A_SECOND + 1
