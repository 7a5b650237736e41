"""The routes: from HTTP to `Api` and back. Answers are JSON, except for the page, CSV tables and metrics."""

from __future__ import annotations

import logging
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
from starlette.routing import Route

from vmask import __version__
from vmask.data.config import ReadConfig
from vmask.errors import VmaskError, did_you_mean
from vmask.serve import schemas
from vmask.serve.api import Api
from vmask.serve.config import ServeConfig
from vmask.serve.http_errors import HttpError, SafeJsonResponse, detail_response, error_response
from vmask.serve.loaded_model import LoadedModel, load_models
from vmask.serve.monitor import Metrics, MetricsMiddleware
from vmask.serve.page import docs_page, load_static_files
from vmask.serve.security import SecurityMiddleware

DESCRIPTION = (
    "Predictions of text classifiers, and the words that decide them. Where the server was started with a token, every "
    "request but for the page, this document and /healthz sends it: Authorization: Bearer TOKEN."
)
MAX_HEADER = 500
"""Characters of a column name in a header of an answer, at most."""

_FILE = {"schema": {"type": "string", "format": "binary"}}
TABLE_CONTENT = {"text/csv": _FILE, "application/octet-stream": _FILE}
"""The body of a request for a table, for the OpenAPI document."""
SCORED_TABLE = {
    "model": schemas.ScoredTable,
    "content": {"text/csv": {"schema": {"type": "string"}}},
    "description": "The table with predictions",
    "headers": {
        "X-Text-Column": {
            "description": "The column of the texts, URL-encoded; of a CSV answer.",
            "schema": {"type": "string"},
        },
        "X-Empty-Texts": {
            "description": "Number of texts that are empty; they are scored like all others. Of a CSV answer.",
            "schema": {"type": "integer"},
        },
        "X-Notes": {
            "description": "What was assumed when the file was read, URL-encoded. Of a CSV answer.",
            "schema": {"type": "string"},
        },
    },
}
"""Its answer."""

log = logging.getLogger(__name__)

NoQuery = Annotated[schemas.NoQuery, Query()]


def create_app(
    folders: Sequence[str | Path],
    *,
    settings: ServeConfig | None = None,
    data: str | None = None,
    data_dir: str | None = None,
    reading: ReadConfig | None = None,
    device: str = "auto",
    say: Callable[[str], None] = log.info,
) -> FastAPI:
    """Load model folders and return the app that serves them.

    Args:
        folders: the model folders.
        settings: address, access control and limits.
        data: dataset, file or folder to take examples from; by default the one a model was trained on.
        data_dir: folder with local datasets.
        reading: how the files of `data` are read.
        device: where to compute.
        say: called with a message for each model without examples.

    Raises:
        ModelFolderError: if a folder holds no model.
    """
    settings = settings or ServeConfig()
    models = load_models(
        folders, data=data, data_dir=data_dir, reading=reading, device=device, examples=settings.examples, say=say
    )
    return build_app(models, settings)


def build_app(models: Sequence[LoadedModel], settings: ServeConfig) -> FastAPI:
    """Return the app that serves models that are loaded. Its `state` has the `api` and the `metrics`."""
    metrics = Metrics(models)
    api = Api(models, settings, metrics)
    static_files = load_static_files()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        api.start()
        app.openapi()  # FastAPI caches it; the first invalid request should not wait for it
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
        default_response_class=SafeJsonResponse,
    )
    app.state.api, app.state.metrics = api, metrics
    _add_error_handlers(app)
    app.router.routes.extend(Route(path, file, methods=["GET"]) for path, file in static_files.items())
    _add_service_routes(app, api, metrics)
    _add_api_routes(app, api)
    paths = {getattr(route, "path", "") for route in app.routes}
    public = {*static_files, "/docs", "/openapi.json", "/healthz"}
    app.add_middleware(SecurityMiddleware, settings=settings, public=public, on_fault=metrics.faults.inc)
    # Added last, so it is outermost and counts what the security middleware refuses.
    app.add_middleware(MetricsMiddleware, metrics=metrics, paths=paths, access_log=settings.access_log)
    return app


def _error_responses(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route, for the OpenAPI document."""
    descriptions = {
        400: "The request cannot be read",
        401: "The token is missing or wrong; only if the server was started with one",
        404: "Not found",
        408: "It took longer than the limit",
        413: "It is larger than the limit",
        415: "Unsupported content type",
        422: "Invalid request",
        429: "The server is busy; `Retry-After` says when to try again",
    }
    return {code: {"model": schemas.Problem, "description": descriptions[code]} for code in (401, *codes)}


def _add_service_routes(app: FastAPI, api: Api, metrics: Metrics) -> None:
    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return docs_page(app.openapi(), str(request.base_url).rstrip("/"))

    @app.get("/healthz", response_model=schemas.Health)
    async def health() -> Response:
        """Whether the server is running."""
        return SafeJsonResponse({"status": "ok", "version": __version__, "models": len(api.models)})

    text = {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics"}

    @app.get("/metrics", response_class=Response, responses={200: text, **_error_responses()})
    async def render_metrics() -> Response:
        """Metrics for Prometheus: requests, latencies, faults, queues, the models, the process."""
        return Response(metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_api_routes(app: FastAPI, api: Api) -> None:
    @app.get("/api/options", response_model=schemas.Options, responses=_error_responses(422))
    async def options(query: NoQuery) -> Response:
        """The models, explainers and their options, and the limits of requests."""
        return SafeJsonResponse(api.options())

    @app.get("/api/words", response_model=schemas.Words, responses=_error_responses(404, 422))
    async def words(query: Annotated[schemas.WordsQuery, Query()]) -> Response:
        """The words of a model by their global importance, count or name, and which of them it does not see."""
        return SafeJsonResponse(await api.words(query))

    preparing = {"model": schemas.Preparing, "description": "The examples are being predicted; try again soon"}

    @app.get(
        "/api/examples",
        response_model=schemas.ShownExamples,
        responses={202: preparing, **_error_responses(404, 422)},
    )
    async def examples(request: Request, query: Annotated[schemas.ExamplesQuery, Query()]) -> Response:
        """Test texts of the dataset that a model was trained on, with its predictions."""
        answer = await api.examples(request, query)
        return SafeJsonResponse(answer, 202 if "preparing" in answer else 200)

    @app.post("/api/predict", response_model=schemas.Predictions, responses=_error_responses(400, 404, 413, 422, 429))
    async def predict(request: Request, body: schemas.PredictRequest, query: NoQuery) -> Response:
        """Classify texts, with hidden words if requested."""
        return SafeJsonResponse(await api.predict(request, body))

    @app.post(
        "/api/explain", response_model=schemas.Explanations, responses=_error_responses(400, 404, 408, 413, 422, 429)
    )
    async def explain(request: Request, body: schemas.ExplainRequest, query: NoQuery) -> Response:
        """Score the words of texts. Slow explanations wait in a queue; close the connection to cancel one."""
        return SafeJsonResponse(await api.explain(request, body))

    measuring = {"model": schemas.MeasuredEdit, "description": "The test texts are being predicted; ask again"}

    @app.post(
        "/api/edit",
        response_model=schemas.MeasuredEdit,
        responses={202: measuring, **_error_responses(400, 404, 413, 422, 429)},
    )
    async def edit(request: Request, body: schemas.EditRequest, query: NoQuery) -> Response:
        """What it costs to hide words from a model or to show them to it, on its test texts. Nothing is stored."""
        answer = await api.edit(request, body)
        return SafeJsonResponse(answer, 200 if answer["preparing"] is None else 202)

    @app.post(
        "/api/table",
        response_class=Response,
        responses={200: SCORED_TABLE, **_error_responses(404, 413, 415, 422, 429)},
        openapi_extra={"requestBody": {"content": TABLE_CONTENT, "required": True}},
    )
    async def table(request: Request, query: Annotated[schemas.TableQuery, Query()]) -> Response:
        """Classify every row of a table: send a CSV, TSV, JSON lines or Excel file, get back a CSV with predictions."""
        if request.headers.get("content-type", "").partition("/")[0] == "multipart":
            raise HttpError("Send the file itself as the body of the request, not a form.", 415)
        scored = await api.table(request, await request.body(), query)
        if query.format == "json":
            return SafeJsonResponse({**scored, "csv": scored["csv"].decode()})
        headers = {
            "Content-Disposition": f'attachment; filename="{safe_stem(query.filename)}-predicted.csv"',
            "X-Text-Column": quote(scored["column"][:MAX_HEADER], errors="replace"),
            "X-Empty-Texts": str(scored["empty"]),
            "X-Notes": quote(" ".join(scored["notes"])[:MAX_HEADER], errors="replace"),
        }
        return Response(scored["csv"], media_type="text/csv; charset=utf-8", headers=headers)


def safe_stem(filename: str) -> str:
    """Return the name of a file without folders and extension, of characters that every system accepts.

    >>> safe_stem('../old "reviews".csv')
    'old__reviews_'
    """
    stem = re.split(r"[/\\]", filename)[-1].rpartition(".")[0] or filename
    return re.sub(r"[^A-Za-z0-9_-]", "_", stem)[:100] or "table"


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(VmaskError)
    async def handle_vmask_error(request: Request, error: VmaskError) -> Response:
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    async def handle_validation_error(request: Request, error: RequestValidationError) -> Response:
        operation = app.openapi()["paths"][request.scope["route"].path][request.method.lower()]
        parameters = [parameter["name"] for parameter in operation.get("parameters", ())]
        return detail_response(validation_message(error.errors()[0], parameters), 422)

    @app.exception_handler(HTTPException)
    async def handle_http_exception(request: Request, error: HTTPException) -> Response:
        messages = {
            400: "The body of the request is not JSON that can be read.",
            404: "There is nothing here. /docs lists what there is.",
            405: f"{request.method} does not work here. /docs lists what does.",
        }
        detail = messages.get(error.status_code, str(error.detail))
        return detail_response(detail, error.status_code, error.headers)


def validation_message(error: dict[str, Any], parameters: Sequence[str] = ()) -> str:
    """Return an error of pydantic as a sentence; FastAPI's own answer is a list, without the fix.

    Args:
        error: the error, as pydantic describes it.
        parameters: names of the query parameters of the route.

    >>> validation_message({"loc": ("body", "texts", 0), "msg": "Input should be a valid string", "type": "x"})
    'texts[0]: input should be a valid string.'
    """
    source, *path = error["loc"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    kind, message = error["type"], str(error["msg"])
    if kind == "json_invalid":
        reason = error.get("ctx", {}).get("error", "it cannot be read")
        return f"The body of the request is not JSON: {reason}, at character {path[0] if path else 0}."
    if source == "body" and not path:
        return "The body of the request must be a JSON object, sent with Content-Type: application/json."
    if kind == "extra_forbidden" and source == "query":
        available = f"There are: {', '.join(parameters)}." if parameters else "This request has none."
        return f"There is no query parameter {name!r}.{did_you_mean(name, parameters)} {available}"
    if kind == "extra_forbidden":
        bodies = (schemas.PredictRequest, schemas.ExplainRequest, schemas.EditRequest, schemas.WordEdit)
        fields = {field for body in bodies for field in body.model_fields}
        return f"There is no field {name!r}.{did_you_mean(name, fields)} /docs lists those that there are."
    return f"{name}: {message[:1].lower()}{message[1:]}."
