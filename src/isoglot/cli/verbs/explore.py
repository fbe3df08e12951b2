"""``isoglot explore``: a local page on which an encoder is steered, looked into and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.options import MODEL, Device, Weights, open_runs
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded, take_folder, write_texts

EXAMPLE = "Example: isoglot explore isoglot-mini --port 8800"


def explore(
    *,
    model: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            show_default=False,
            callback=open_runs,
            help=f"{MODEL} Several are compared, such as RUN/checkpoints/*. Default: isoglot-mini.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any that is free.")] = 0,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TEXT",
            help="Secret in the address. With the same port and token again, an open page comes back. Default: random.",
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            "--export", metavar="DIR", callback=take_folder, help="Write a page to publish there; serve nothing."
        ),
    ] = None,
    weights: Weights = "best",
    device: Device = "auto",
    output: Output,
) -> None:
    """Open a local page: turn a sentence to another language, walk through the space, look into layers, compare models.

    The page is served until Ctrl-C, to this machine alone and to nobody without the token in its address. With
    --export, the views that need no live model are written as a page to publish, and nothing is served.
    """
    import secrets

    from isoglot.explore.export import static_page
    from isoglot.explore.server import serve
    from isoglot.explore.views import ExploredModel
    from isoglot.model import load_encoder

    models = [ExploredModel(name, load_encoder(name, device=device)) for name in model or ["isoglot-mini"]]
    for each in models:
        each.languages  # noqa: B018 - a model without any is refused before anything is served
    if out is not None:
        with recorded(out, [], seed=0, device=device) as run:
            write_texts(run, {"index.html": static_page(models, progress=output.progress)})
        output.result({"out": str(out), "models": [each.name for each in models]}, f"Page: {out / 'index.html'}")
        return

    def ready(address: str) -> None:
        output.result({"address": address}, f"Explorer: {address}\nCtrl-C ends it.")
        if browser:
            typer.launch(address)

    serve(models, host=host, port=port, token=token or secrets.token_urlsafe(24), ready=ready)
