"""The routes: from HTTP to `Api` and back. Every answer is JSON but for the page, its script and style, and tables."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from vmask import __version__
from vmask.errors import VmaskError, did_you_mean
from vmask.serve import schemas
from vmask.serve.api import Api
from vmask.serve.config import ServeConfig
from vmask.serve.docs_page import docs_page
from vmask.serve.http_errors import Json, Refusal, problem, refused
from vmask.serve.loaded_model import Served, load_models
from vmask.serve.monitor import Metrics, Monitor
from vmask.serve.page_options import LARGEST
from vmask.serve.security import Guard

STATIC = Path(__file__).parent / "static"
PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/app.css": ("app.css", "text/css; charset=utf-8"),
}
"""All files that are served."""
DESCRIPTION = (
    "Predictions of text classifiers, and the words that decide them. Where the server was started with a token, every "
    "request but for the page, this document and /healthz sends it: Authorization: Bearer TOKEN."
)
MOST_SHOWN = 1000
"""Words or examples in an answer."""
LONGEST_HEADER = 500
"""Characters of a name that an answer has in a header."""


def create_app(
    folders: Sequence[str | Path],
    *,
    settings: ServeConfig | None = None,
    data: str | None = None,
    data_dir: str | None = None,
    device: str = "auto",
    say: Callable[[str], None] | None = None,
) -> FastAPI:
    """The app that serves some model folders.

    Args:
        folders: the model folders.
        settings: limits and names.
        data: dataset, file or folder to take examples from; by default the one a model was trained on.
        data_dir: folder with local datasets.
        device: where to compute.
        say: where to tell what is missing.

    Raises:
        ModelFolderError: for a folder that holds no model.
    """
    settings = settings or ServeConfig()
    talk = {} if say is None else {"say": say}
    models = load_models(folders, data=data, data_dir=data_dir, device=device, examples=settings.examples, **talk)
    return build_app(models, settings)


def build_app(models: Sequence[Served], settings: ServeConfig) -> FastAPI:
    """The app that serves some models; its `state.api` does the work, its `state.metrics` counts."""
    metrics = Metrics(models)
    api = Api(models, settings, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        api.start()
        yield
        api.close()

    app = FastAPI(
        title="vmask",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        default_response_class=Json,
    )
    app.state.api, app.state.metrics = api, metrics
    _add_errors(app)
    _add_pages(app)
    _add_models(app, api)
    _add_texts(app, api)
    _add_metrics(app, metrics)
    paths = {getattr(route, "path", "") for route in app.routes}
    app.add_middleware(Guard, settings=settings, failed=metrics.faults.inc)
    app.add_middleware(Monitor, metrics=metrics, paths=paths, write=settings.access_log)  # around the guard
    return app


def _refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route to requests that it refuses, for the OpenAPI document."""
    said = {
        400: "The request cannot be read",
        401: "The token is missing or another; only where the server asks for one",
        404: "There is no such thing",
        408: "It took longer than the limit",
        413: "It is larger than the limit",
        415: "It is of the wrong kind",
        422: "It cannot be answered",
        429: "The server is busy; `Retry-After` says when to ask again",
    }
    return {code: {"model": schemas.Problem, "description": said[code]} for code in (401, *codes)}


def _add_pages(app: FastAPI) -> None:
    def page(name: str, kind: str) -> Callable[[], Any]:
        async def read() -> Response:
            path = STATIC / name
            if not path.is_file():
                raise HTTPException(404)
            return Response(path.read_bytes(), media_type=kind, headers={"Cache-Control": "no-cache"})

        return read

    for route, (name, kind) in PAGES.items():
        app.add_api_route(route, page(name, kind), methods=["GET", "HEAD"], include_in_schema=False)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        page = docs_page(app.openapi(), str(request.base_url).rstrip("/"))
        return Response(page, media_type="text/html; charset=utf-8", headers={"Cache-Control": "no-cache"})


def _add_models(app: FastAPI, api: Api) -> None:
    @app.get("/healthz", response_model=schemas.Health)
    async def health() -> Response:
        """Whether the server is there."""
        return Json({"status": "ok", "version": __version__, "models": len(api.models)})

    @app.get("/api/options", response_model=schemas.Options, responses=_refusals())
    async def options() -> Response:
        """The models, explainers and their options, and the limits of requests."""
        return Json(api.options())

    @app.get("/api/words", response_model=schemas.Words, responses=_refusals(404, 422))
    async def words(
        model: Annotated[str | None, Query(description="Name of a model; by default the first.")] = None,
        query: Annotated[str, Query(description="Only words that contain this.")] = "",
        min_count: Annotated[int, Query(ge=0, le=LARGEST, description="Seen so often in training.")] = 1,
        sort: Annotated[schemas.Sort, Query(description="The order of the words.")] = "importance",
        limit: Annotated[int, Query(ge=0, le=MOST_SHOWN, description="How many words.")] = 100,
        offset: Annotated[int, Query(ge=0, le=LARGEST, description="Leave out so many first.")] = 0,
    ) -> Response:
        """The words of a model, by how much it uses them wherever they stand."""
        return Json(await api.words(model, query, min_count, sort, limit, offset))

    @app.get(
        "/api/examples",
        response_model=schemas.ShownExamples,
        responses={202: {"model": schemas.Preparing, "description": "Ask again in a moment"}, **_refusals(404, 422)},
    )
    async def examples(
        request: Request,
        model: Annotated[str | None, Query(description="Name of a model; by default the first.")] = None,
        show: Annotated[schemas.Show, Query(description="Which; `uncertain`: all, least certain first.")] = "all",
        label: Annotated[str | None, Query(description="Only those with this label.")] = None,
        predicted: Annotated[str | None, Query(description="Only those with this prediction.")] = None,
        query: Annotated[str, Query(description="Only texts that contain this.")] = "",
        limit: Annotated[int, Query(ge=0, le=MOST_SHOWN, description="How many examples.")] = 20,
        offset: Annotated[int, Query(ge=0, le=LARGEST, description="Leave out so many first.")] = 0,
    ) -> Response:
        """Test texts of the dataset that a model was trained on, with its predictions."""
        found = await api.examples(request, model, show, label, predicted, query, limit, offset)
        return Json(found, 202 if "preparing" in found else 200)


def _add_texts(app: FastAPI, api: Api) -> None:
    @app.post("/api/predict", response_model=schemas.Predictions, responses=_refusals(400, 404, 413, 422, 429))
    async def predict(request: Request, asked: schemas.PredictRequest) -> Response:
        """Classify texts, with words hidden where that is asked."""
        return Json(await api.predict(request, asked))

    @app.post("/api/explain", response_model=schemas.Explanations, responses=_refusals(400, 404, 408, 413, 422, 429))
    async def explain(request: Request, asked: schemas.ExplainRequest) -> Response:
        """Which words of the texts matter. Explanations that take long wait for their turn; hang up to cancel."""
        return Json(await api.explain(request, asked))

    file = {"schema": {"type": "string", "format": "binary"}}
    content = {"text/csv": file, "application/octet-stream": file}
    scored = {
        "content": {"text/csv": {"schema": {"type": "string"}}},
        "description": "The table with predictions",
        "headers": {
            "X-Text-Column": {"description": "The column of the texts, URL-encoded.", "schema": {"type": "string"}},
            "X-Empty-Texts": {
                "description": "How many texts were empty; they are scored like all others.",
                "schema": {"type": "integer"},
            },
        },
    }

    @app.post(
        "/api/table",
        response_class=Response,
        responses={200: scored, **_refusals(404, 413, 415, 422, 429)},
        openapi_extra={"requestBody": {"content": content, "required": True}},
    )
    async def table(
        request: Request,
        model: Annotated[str | None, Query(description="Name of a model; by default the first.")] = None,
        column: Annotated[str | None, Query(description="Column with the texts; by default the obvious one.")] = None,
        filename: Annotated[str, Query(description="Its ending says the kind: .csv .tsv .jsonl")] = "table.csv",
        format: Annotated[schemas.TableFormat, Query(description="What to answer with.")] = "csv",
    ) -> Response:
        """Classify every row of a table: send a CSV, TSV or JSON lines file, get it back as CSV with predictions."""
        if request.headers.get("content-type", "").partition("/")[0] == "multipart":
            raise Refusal("Send the file itself as the body of the request, not a form.", status=415)
        found = await api.table(request, await request.body(), model, column, filename)
        headers = {
            "Content-Disposition": f'attachment; filename="{safe_stem(filename)}-predicted.csv"',
            "X-Text-Column": quote(found.column[:LONGEST_HEADER], errors="replace"),
            "X-Empty-Texts": str(found.empty),
        }
        return Response(found.csv, media_type="text/csv; charset=utf-8", headers=headers)


def _add_metrics(app: FastAPI, metrics: Metrics) -> None:
    text: dict[int | str, dict[str, Any]] = {
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The numbers"}
    }

    @app.get("/metrics", response_class=Response, responses={**text, **_refusals()})
    async def numbers() -> Response:
        """Numbers for Prometheus: requests, latencies, faults, queues, the models, the process."""
        return Response(metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


def safe_stem(filename: str) -> str:
    """The name of a file without folders and ending, of letters that any system takes.

    >>> safe_stem('../old "reviews".csv')
    'old__reviews_'
    """
    stem = re.split(r"[/\\]", filename)[-1].rpartition(".")[0] or filename
    return re.sub(r"[^A-Za-z0-9_-]", "_", stem)[:100] or "table"


def _add_errors(app: FastAPI) -> None:
    async def refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, VmaskError)
        return refused(error)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem(sentence(error.errors()[0]), 422)

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = {
            400: "The body of the request is not JSON that can be read.",
            404: "There is nothing here. /docs lists what there is.",
            405: f"{request.method} does not work here. /docs lists what does.",
        }
        detail = said.get(error.status_code, str(error.detail))
        return problem(detail, error.status_code, error.headers)

    app.add_exception_handler(VmaskError, refusal)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def sentence(error: dict[str, Any]) -> str:
    """The first thing that is wrong with a request, in a sentence.

    >>> sentence({"loc": ("body", "texts", 0), "msg": "Input should be a valid string", "type": "string_type"})
    'texts[0]: input should be a valid string.'
    """
    place, *inside = error["loc"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in inside).lstrip(".")
    kind, message = error["type"], str(error["msg"])
    if kind == "json_invalid":
        reason = error.get("ctx", {}).get("error", "it cannot be read")
        return f"The body of the request is not JSON: {reason}, at character {inside[0] if inside else 0}."
    if place == "body" and not inside:
        return "The body of the request must be a JSON object, sent with Content-Type: application/json."
    if kind == "extra_forbidden":
        known = {*schemas.PredictRequest.model_fields, *schemas.ExplainRequest.model_fields}
        return f"There is no field {name!r}.{did_you_mean(name, known)} /docs lists those that there are."
    return f"{name}: {message[:1].lower()}{message[1:]}."
