"""A local server for the explorer's page.

It answers only requests that carry its token, name it as their host, and come from its own page: a page of another site
can neither read nor send anything, also not by DNS rebinding. One model pass runs at a time; a newer request of the
same page for the same view replaces an older one.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from isoglot.core.errors import ConfigError, IsoglotError, cut
from isoglot.core.optional import import_part
from isoglot.explore import requests
from isoglot.explore.views import behind_cell, compare

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, MutableMapping, Sequence

    from isoglot.explore.views import Check, ExploredModel

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Any]
    Send = Callable[[Any], Any]

PAGE = Path(__file__).parent / "page"
LARGEST_BODY = 64 * 1024
REQUESTS_A_SECOND = 40
_PAGES = 64
"""Open pages that are told apart; more than anybody has."""
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class SupersededError(Exception):
    """A newer request replaced this one."""


class NewestFirst:
    """Runs one computation at a time; one that a newer request of its kind replaced ends early."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1)
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._numbers = count()

    async def run(self, kind: str, work: Callable[[Check], Any]) -> Any:  # noqa: ANN401 - what the work returns
        """Run some work, which calls the function it is given between its parts.

        Raises:
            SupersededError: A newer request came.
        """
        number = next(self._numbers)
        self._newest[kind] = number
        self._newest.move_to_end(kind)
        while len(self._newest) > _PAGES * len(_VIEWS):
            self._newest.popitem(last=False)

        def check() -> None:
            if self._newest.get(kind) != number:
                raise SupersededError

        def checked() -> Any:  # noqa: ANN401 - what the work returns
            check()
            return work(check)

        return await asyncio.get_running_loop().run_in_executor(self._worker, checked)


class RateLimit:
    """Allows a number of requests a second, with bursts of as many."""

    def __init__(self, per_second: float) -> None:
        self._rate, self._left, self._last = per_second, per_second, time.monotonic()

    def allows(self) -> bool:
        """Whether another request may come now."""
        now = time.monotonic()
        self._left = min(self._rate, self._left + (now - self._last) * self._rate)
        self._last = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


_VIEWS: dict[str, tuple[type[requests.Request], Callable[[Sequence[ExploredModel], Any, Check], Any]]] = {
    "turn": (requests.TurnRequest, lambda models, asked, check: models[asked.model].turn(asked, check)),
    "lens": (requests.LensRequest, lambda models, asked, check: models[asked.model].lens(asked, check)),
    "space": (requests.SpaceRequest, lambda models, asked, check: models[asked.model].space(asked, check)),
    "compare": (
        requests.CompareRequest,
        lambda models, asked, check: compare(models[asked.model], models[asked.other], asked, check),
    ),
    "cell": (
        requests.CellRequest,
        lambda models, asked, check: behind_cell(models[asked.model], models[asked.other], asked, check),
    ),
}


def make_app(models: Sequence[ExploredModel], *, token: str, hosts: Sequence[str]) -> Any:  # noqa: ANN401 - an ASGI app
    """Make the application.

    Args:
        models: Models that are open.
        token: What every request has to carry.
        hosts: ``host:port`` names by which the server may be addressed.
    """
    import_part("starlette")
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, JSONResponse, Response
    from starlette.routing import Route

    passes, limit = NewestFirst(), RateLimit(REQUESTS_A_SECOND)
    types = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}

    async def page(request: Any) -> Response:  # noqa: ANN401 - Starlette's request
        name = request.path_params.get("name", "index.html")
        if not (PAGE / name).is_file() or Path(name).suffix not in types:
            return JSONResponse({"error": "no such page"}, status_code=404)
        return FileResponse(PAGE / name, media_type=types[Path(name).suffix])

    async def about(_: Any) -> Response:  # noqa: ANN401 - Starlette's request
        found = await asyncio.get_running_loop().run_in_executor(None, lambda: [model.about() for model in models])
        return JSONResponse({"models": found, "longest_text": requests.LONGEST_TEXT})

    async def view(request: Any) -> Response:  # noqa: ANN401 - Starlette's request
        name = request.path_params["view"]
        if name not in _VIEWS:
            return JSONResponse({"error": "no such view"}, status_code=404)
        kind, compute = _VIEWS[name]
        body = await _body(request)
        if body is None:
            return JSONResponse({"error": f"a request has at most {LARGEST_BODY} bytes"}, status_code=413)
        try:
            asked = kind.model_validate_json(body)
            _check_models(asked, models)
            client = cut(request.headers.get("x-isoglot-page", ""), 40)
            found = await passes.run(f"{client} {name}", lambda check: compute(models, asked, check))
        except ValidationError as error:
            return JSONResponse({"error": _first_problem(error)}, status_code=422)
        except IsoglotError as error:
            return JSONResponse({"error": str(error), "code": error.code}, status_code=422)
        except SupersededError:
            return Response(status_code=204)  # not an error, which browsers would log
        return Response(_escaped(found), media_type="application/json")

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/api/models", about),
            Route("/api/{view}", view, methods=["POST"]),
            Route("/{name}", page),
        ]
    )
    return _Guard(app, token, frozenset(hosts), limit)


class _Guard:
    """Refuses requests to other hosts, from other origins, without the token, or too many; adds security headers."""

    def __init__(self, app: Any, token: str, hosts: frozenset[str], limit: RateLimit) -> None:  # noqa: ANN401
        self._app, self._token, self._hosts, self._limit = app, token, hosts, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def secured(message: Any) -> None:  # noqa: ANN401 - an ASGI message
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *extra]
            await send(message)

        status, problem = self._problem(scope)
        if problem is None:
            await self._app(scope, receive, secured)
            return
        body = json.dumps({"error": problem}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await secured({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _problem(self, scope: Scope) -> tuple[int, str | None]:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host", "") not in self._hosts:
            return 421, "this server does not answer to that host"
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return 403, "requests from other sites are refused"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "requests from other sites are refused"
        if not self._limit.allows():
            return 429, "too many requests"
        path: str = scope["path"]
        if path.startswith("/api/"):
            given = headers.get("x-isoglot-token", "")
        elif path == "/":
            query = scope.get("query_string", b"").decode("latin-1")
            given = next((part[6:] for part in query.split("&") if part.startswith("token=")), "")
        else:
            return 200, None  # scripts and styles, which are in the package
        if not secrets.compare_digest(given.encode("latin-1"), self._token.encode()):
            return 403, "the address lacks the token that isoglot explore printed"
        return 200, None


async def _body(request: Any) -> bytes | None:  # noqa: ANN401 - Starlette's request
    """Return the body of a request; None if it is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            return None
    return body


def _check_models(asked: BaseModel, models: Sequence[ExploredModel]) -> None:
    for name in ("model", "other"):
        if getattr(asked, name, 0) >= len(models):
            raise ConfigError(f"no model {getattr(asked, name)}", "choose another", "unknown-name")


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _escaped(value: Any) -> bytes:  # noqa: ANN401 - whatever JSON can hold
    """Return JSON in ASCII, in which unpaired surrogates are escapes."""
    return json.dumps(value, allow_nan=False).encode()


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigError: The port is taken, or the address is not one of this machine.
    """
    import socket

    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - refused
        raise ConfigError(
            f"{host or 'an empty address'} stands for all addresses, and requests have to name the one they are for",
            "give one address of this machine",
            "invalid-value",
        )
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # so that a browser that comes before the first answer waits
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot listen at {host}:{port}: {error.strerror}",
            "choose another port, 0 for any that is free, or another address of this machine",
            "invalid-value",
        ) from error
    return listening


def serve(models: Sequence[ExploredModel], *, host: str, port: int, token: str, ready: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Args:
        models: Models that are open.
        host: Address to listen at.
        port: Port; 0 for any that is free.
        token: What every request has to carry.
        ready: Called with the address of the page once the port is taken.

    Raises:
        ConfigError: The address or the port cannot be used.
    """
    uvicorn = import_part("uvicorn")
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    hosts = {f"{name}:{port}"} | ({f"localhost:{port}"} if host in ("127.0.0.1", "::1") else set())
    app = make_app(models, token=token, hosts=sorted(hosts))
    ready(f"http://{name}:{port}/?token={token}")
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])
