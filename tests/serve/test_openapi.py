"""The OpenAPI document is true: whatever it allows is answered without a fault, and as it says."""

from __future__ import annotations

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi_checks

from serve.helpers import BASE_URL

CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]


@pytest.fixture
def small(shared_client):
    """A client for an app of low limits, so that they are met."""
    return shared_client(max_characters=200, max_texts=4, max_explain_texts=2, max_body_bytes=10_000)


ROUTES = {
    "/healthz": "GET",
    "/api/options": "GET",
    "/api/words": "GET",
    "/api/examples": "GET",
    "/api/predict": "POST",
    "/api/explain": "POST",
    "/api/edit": "POST",
    "/api/table": "POST",
    "/metrics": "GET",
}


RIGHT, WRONG = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
NOTHING_TO_GET_WRONG = ("/healthz", "/metrics", "/api/options", "/api/table")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        *((path, RIGHT) for path in ROUTES),
        *((path, WRONG) for path in ROUTES if path not in NOTHING_TO_GET_WRONG),
    ],
)
def test_every_answer_is_as_the_document_says(small, path, wanted):
    operation = schemathesis.openapi.from_dict(small.get("/openapi.json").json())[path][ROUTES[path]]
    seen = set()

    @settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=wanted))
    def ask(case):
        asked = requests.Request(**case.as_transport_kwargs(base_url=BASE_URL)).prepare()
        answer = small.request(asked.method, asked.url, headers=dict(asked.headers), content=asked.body)
        seen.add(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    ask()
    assert (200 if wanted is RIGHT else 422) in seen, seen  # it got as far as it should


def test_every_route_of_the_api_is_described(client):
    document = client.get("/openapi.json").json()
    assert {path: next(iter(methods)).upper() for path, methods in document["paths"].items()} == ROUTES
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["description"]
            for status, answer in operation["responses"].items():
                if status != "200":
                    assert list(answer["content"]) == ["application/json"]
