"""``isoglot explore``: a local page on which an encoder is steered, looked into and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.declaration import argument, command, option
from isoglot.cli.inputs import Files
from isoglot.cli.options import EMBEDDED, Device, Weights, open_runs
from isoglot.cli.output import Output
from isoglot.cli.run_files import PAGE, publish, take_folder


@command("explore isoglot-mini --port 8800")
def explore(
    *,
    model: Annotated[Files, argument("MODEL...", show_default=False, callback=open_runs)] = None,
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option(text="Port; 0 for any that is free.", min=0, max=65_535)] = 0,
    token: Annotated[str | None, option("TEXT")] = None,
    browser: Annotated[bool, option(text="Open the page in the browser.", name="--browser/--no-browser")] = True,
    out: Annotated[Path | None, option("DIR", name="--export", callback=take_folder)] = None,
    weights: Weights = "best",
    device: Device = "auto",
    output: Output,
) -> None:
    """Open a local page: turn a sentence to another language, walk through the space, look into layers, compare models.

    The page is served until Ctrl-C, to this machine alone and to nobody without the token in its address. With
    --export, the views that need no live model are written as a page to publish, and nothing is served.

    Options:
        model: {MODEL} Several are compared, such as RUN/checkpoints/*. Default: isoglot-mini.
        token: Secret in the address. With the same port and token again, an open page comes back. Default: random.
        out: Write a page to publish there; serve nothing.
    """
    import secrets

    from isoglot.explore.export import static_page
    from isoglot.explore.server import serve
    from isoglot.explore.views import ExploredModel
    from isoglot.model import load_encoder
    from isoglot.report.results import Rendering

    models = [ExploredModel(name, load_encoder(name, device=device)) for name in model or [EMBEDDED]]
    for each in models:
        each.languages  # noqa: B018 - a model without any is refused before anything is served

    def ready(address: str) -> None:
        output.result({"address": address}, f"Explorer: {address}\nCtrl-C ends it.")
        if browser:
            typer.launch(address)

    if out is not None:
        names, page = [each.name for each in models], static_page(models, progress=output.progress)
        found = Rendering({"models": names}, "\n".join(names), lambda _: {PAGE: page})
        publish(output, out, lambda _: found, seed=0, device=device)
    else:
        serve(models, host=host, port=port, token=token or secrets.token_urlsafe(24), ready=ready)
