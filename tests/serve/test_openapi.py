"""The OpenAPI document is true: requests made from it, good and bad, are answered as it says and never with a 5xx."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hmem.knowledge.base import KnowledgeBase
from hmem.serve.app import create_app
from tests.knowledge.living import TOY_FACTS
from tests.serve.clients import served
from tests.serve.conftest import Serve

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPERATIONS = [
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/metrics"),
    ("GET", "/events"),
    ("GET", "/graph"),
    ("GET", "/model"),
    ("GET", "/relations"),
    ("GET", "/entities"),
    ("POST", "/entities"),
    ("GET", "/entity"),
    ("GET", "/kinds"),
    ("GET", "/questions"),
    ("GET", "/neighbors"),
    ("GET", "/values"),
    ("POST", "/values"),
    ("GET", "/properties"),
    ("GET", "/estimate"),
    ("POST", "/predict"),
    ("POST", "/score"),
    ("POST", "/missing"),
    ("POST", "/missing/anywhere"),
    ("POST", "/audit"),
    ("POST", "/similar"),
    ("POST", "/explain"),
    ("GET", "/facts"),
    ("GET", "/history"),
    ("POST", "/facts"),
    ("DELETE", "/facts"),
    ("GET", "/duplicates"),
    ("POST", "/merge"),
    ("POST", "/rename"),
    ("DELETE", "/entity"),
    ("GET", "/writes"),
    ("POST", "/undo"),
    ("POST", "/infer"),
    ("DELETE", "/infer"),
    ("GET", "/sparql"),
    ("POST", "/sparql"),
]
NO_JSON = {("POST", "/sparql")}  # which is sent text, as the SPARQL protocol has it
REAL: dict[str, Any] = {
    "entity": "dog.n.01",
    "head": "dog.n.01",
    "tail": "wolf.n.01",
    "relation": "hypernym",
    "search": "wolf",
    "name": "dog.n.01",
    "facts": [["dog.n.01", "hypernym", "wolf.n.01"]],
    "queries": [{"entity": "dog.n.01", "relation": "hypernym"}],
    "as_of": "2026-05-01",
    "at": "2019-05",
    "valid_from": "2019",
}
EXAMPLES, MANY = 5, 100  # of each kind, for each operation; many with --slow

Served = tuple[str, Any]


@pytest.fixture(scope="module")
def served_api(toy_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that may be written to, and its document."""
    path = tmp_path_factory.mktemp("served") / "zoo.kb"
    KnowledgeBase.create(path, model=toy_model, facts=TOY_FACTS).close()
    with served(path, allow_writes=True) as url:
        yield url, schemathesis.openapi.from_url(f"{url}/openapi.json")


def test_the_document_lists_every_operation(zoo: Path) -> None:
    app = create_app(zoo)
    paths = app.openapi()["paths"]
    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == set(OPERATIONS)
    app.state.service.close()


@pytest.mark.network
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")  # the server does, in its own threads
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["good", "bad"])
@pytest.mark.parametrize(("method", "path"), [each for each in OPERATIONS if each[1] != "/events"])  # it never ends
def test_requests_made_from_the_document(
    served_api: Served, method: str, path: str, mode: GenerationMode, request: pytest.FixtureRequest
) -> None:
    url, schema = served_api
    operation = schema[path][method]
    if mode is GenerationMode.NEGATIVE and not (operation.query or operation.body):
        pytest.skip("nothing can be wrong about it")
    cases = operation.as_strategy(generation_mode=mode)
    session = requests.Session()

    @settings(
        max_examples=MANY if request.config.getoption("--slow") else EXAMPLES,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(case=cases, is_real=st.booleans())
    def check(case: Any, is_real: bool) -> None:
        if is_real:
            with_real_names(case)
        response = case.call(base_url=url, session=session)
        case.validate_response(response, checks=CHECKS)

    check()
    session.close()


def with_real_names(case: Any) -> None:
    """The same request about names that are there."""
    for part in (case.query, case.body):
        if isinstance(part, dict):
            for name in part.keys() & REAL.keys():
                same_form = not (name == "facts" and case.operation.path == "/facts")
                if isinstance(part[name], type(REAL[name])) and same_form:
                    part[name] = REAL[name]


def bodies(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every example of a body: method, path and the body itself."""
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation and (method.upper(), path) not in NO_JSON:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                for each in schema.get("oneOf") or schema.get("anyOf") or [schema]:
                    for example in schemas[each["$ref"].rpartition("/")[2]]["examples"]:
                        yield method.upper(), path, example


def test_every_body_has_an_example_that_works(serve: Serve, tmp_path: Path, toy_model: Path) -> None:
    """They speak of WordNet, whose relations have an underscore that those of the toy graph have not."""
    path = tmp_path / "zoo.kb"
    facts = [*TOY_FACTS, ("dire_wolf.n.01", "hypernym", "wolf.n.01"), ("dire_wolf.n.01", "hypernym", "dog.n.01")]
    facts.append(("poodle.n.01", "hypernym", "dog.n.01"))
    KnowledgeBase.create(path, model=toy_model, facts=facts).close()
    api = serve(path, allow_writes=True)
    examples = list(bodies(api.get("/openapi.json").json()))
    assert {(method, route) for method, route, _ in examples} == {
        each for each in OPERATIONS if each[0] != "GET"
    } - NO_JSON
    for method, route, body in examples:
        answer = api.request(
            method, route, content=_in_the_toy_graph(body), headers={"content-type": "application/json"}
        )
        assert answer.status_code in (200, 201), f"{method} {route} {body}: {answer.text}"


def _in_the_toy_graph(body: dict[str, Any]) -> bytes:
    return json.dumps(body).replace('"_hyp', '"hyp').encode()


def test_every_operation_says_what_can_go_wrong(zoo: Path) -> None:
    app = create_app(zoo)
    for path, methods in app.openapi()["paths"].items():
        for operation in methods.values():
            assert operation["description"] or operation["summary"], path
            statuses = set(operation["responses"])
            assert {"403", "413", "422", "500", "503"} <= statuses, path
            for status in statuses - {"200", "201"}:
                schema = operation["responses"][status]["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Failure"}
    app.state.service.close()
