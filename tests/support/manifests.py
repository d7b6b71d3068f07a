"""The Kubernetes manifests of `collector_config/`, read as the API server would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

__all__ = ["FILES", "FOLDER", "KUSTOMIZATION", "containers", "documents", "one", "pod", "secrets_of"]

FOLDER: Final = Path(__file__).resolve().parents[2] / "collector_config"
KUSTOMIZATION: Final[dict[str, Any]] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
EXTRAS: Final = ("kubernetes/monitors.yaml", "kubernetes/agent_example.yaml")
"""Manifests that are applied by hand, or copied from."""
FILES: Final = (*KUSTOMIZATION["resources"], *EXTRAS)


def documents(*files: str) -> list[dict[str, Any]]:
    """All objects of these files, else of all that there are."""
    return [
        document
        for file in files or FILES
        for document in yaml.safe_load_all((FOLDER / file).read_text(encoding="utf-8"))
        if document is not None
    ]


def one(kind: str, name: str) -> dict[str, Any]:
    """The only object of a kind and name."""
    (found,) = [item for item in documents() if (item["kind"], item["metadata"]["name"]) == (kind, name)]
    return found


def pod(workload: dict[str, Any]) -> dict[str, Any]:
    """The Pod that a workload makes: its spec."""
    spec: dict[str, Any] = workload["spec"]["template"]["spec"]
    return spec


def containers() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every workload with each of its containers."""
    for document in documents():
        if document["kind"] in {"Deployment", "StatefulSet"}:
            for container in pod(document)["containers"]:
                yield document, container


def secrets_of(workload: dict[str, Any]) -> set[tuple[str, str]]:
    """What a Pod reads of Secrets: name and key; `*` for a whole Secret that is mounted."""
    found = set()
    for volume in pod(workload).get("volumes", ()):
        if "secret" in volume:
            keys = [item["key"] for item in volume["secret"].get("items", ())] or ["*"]
            found |= {(volume["secret"]["secretName"], key) for key in keys}
    for container in pod(workload)["containers"]:
        for variable in container.get("env", ()):
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            if reference:
                found.add((reference["name"], reference["key"]))
    return found
