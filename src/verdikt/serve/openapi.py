"""The OpenAPI description, made from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from verdikt import __version__

if TYPE_CHECKING:
    from verdikt.serve.machine_api import MachineRoute
    from verdikt.serve.routes import ApiRoute


def build_openapi(routes: Iterable[ApiRoute], machine_routes: Iterable[MachineRoute]) -> dict[str, Any]:
    """Return the description of these routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path_parameters = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"\{(\w+)\}", route.path)
        ]
        query_parameters = [
            {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
            for name, text in route.parameters.items()
        ]
        operation: dict[str, Any] = {
            "summary": route.summary,
            "parameters": path_parameters + query_parameters,
            "responses": {"200": {"description": "done"}, "400": {"description": "not understood"}},
        }
        if route.roles:
            by_token = [{"token": [route.scope]}] if route.scope and not route.is_write else []
            operation["security"] = [{"login": []}, *by_token]
            operation["description"] = f"for {', '.join(sorted(route.roles))}"
            operation["responses"] |= {"401": {"description": "not signed in"}, "403": {"description": "not allowed"}}
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    for machine_route in machine_routes:
        paths.setdefault(machine_route.path, {})[machine_route.method.lower()] = {
            "summary": machine_route.summary,
            "security": [{"machine": []}] if machine_route.is_signed else [],
            "responses": {"200": {"description": "done"}, "422": {"description": "not understood"}},
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "verdikt", "version": __version__},
        "paths": paths,
        "components": {
            "securitySchemes": {
                "login": {"type": "apiKey", "in": "cookie", "name": "verdikt_login"},
                "token": {"type": "http", "scheme": "bearer"},
                "machine": {"type": "apiKey", "in": "header", "name": "Authorization"},
            }
        },
    }
