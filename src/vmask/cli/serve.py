"""Serve models on a web page of this machine: predictions, explanations and words, also as an API."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from vmask.cli.console import print_json, say, say_result
from vmask.cli.options import add_data_dir, add_device, add_fields, add_json, add_reading, given, reading_of
from vmask.serve.config import TOKEN_VARIABLE, ServeConfig


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument("models", metavar="DIR", nargs="+", help="a model folder, or several")
    parser.add_argument("--data", metavar="DATA", help="data to take examples from [what a model was trained on]")
    add_reading(parser)
    add_data_dir(parser)
    add_device(parser)
    add_json(parser)
    add_fields(parser, "server and limits", ServeConfig)


def run(args: argparse.Namespace) -> int:
    """Take the port, load the models, serve until Ctrl-C."""
    from vmask.config import make
    from vmask.errors import MissingExtra

    # Report what is wrong before a model is loaded.
    options = {"token": os.environ.get(TOKEN_VARIABLE) or None, **given(args, ServeConfig)}
    settings = make(ServeConfig, options)
    if any(importlib.util.find_spec(name) is None for name in ("fastapi", "uvicorn", "prometheus_client")):
        raise MissingExtra("vmask serve", "serve")
    from vmask.persistence.model_folder import read_config

    for folder in args.models:
        read_config(Path(folder))
    from vmask.serve.app import create_app
    from vmask.serve.server import bind, exit_on_sigterm, local_address, network_address, run_app

    with exit_on_sigterm(), bind(settings.host, settings.port) as listener:
        for warning in settings.warnings():
            say(args, f"warning: {warning}")
        if settings.access_log:
            logging.getLogger("vmask.access").setLevel(logging.INFO)  # with --quiet too: it was requested
        app = create_app(
            args.models,
            settings=settings,
            data=args.data,
            data_dir=args.data_dir,
            reading=reading_of(args),
            device=args.device,
            say=lambda line: say(args, line),
        )
        local, network = local_address(listener), network_address(listener, settings.host)
        models = app.state.api.models

        def on_ready() -> None:
            if args.json:
                addresses = {"address": local, "docs": f"{local}/docs"}
                if network:
                    addresses["network_address"] = network
                print_json({**addresses, "models": [model.name for model in models]})
                return
            for model in models:
                say_result(f"{model.name}: {model.title}")
            say_result(f"{local} (the API: {local}/docs)")
            if network and network != local:
                say_result(f"{network} (from other machines)")
            if settings.token:
                say(args, "the page asks for the token; a link with #token=… behind the address has it along")
            say(args, "Ctrl-C stops")
            sys.stdout.flush()

        run_app(app, listener, on_ready)
    say(args, "stopped")
    return 0
