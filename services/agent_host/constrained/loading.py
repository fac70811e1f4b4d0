"""Specs as YAML or JSON, so that a person adds one without Python; the fields are those of `RuntimeAISpec`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final

from agent_host.constrained.spec import CANONICAL_FORM, SCHEMA_VERSION, RuntimeAISpec
from agent_host.errors import SpecError
from agent_host.providers.protocol import Identity

_GIVEN: Final = {one.name: one for one in fields(RuntimeAISpec) if one.init}
_FIXED: Final = {"schema_version": SCHEMA_VERSION, "canonical_form": CANONICAL_FORM}
_IDENTITY: Final = frozenset({"provider", "model", "version"})


def load_spec(path: Path, identity: Identity | None = None) -> RuntimeAISpec:
    """Reads one spec from a YAML file; see `spec_from_yaml`.

    Raises:
        SpecError: the file cannot be read, or `spec_from_yaml` refuses it; the message names the file.
    """
    try:
        return spec_from_yaml(path.read_text(encoding="utf-8"), identity)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SpecError(f"The spec file {path} cannot be read: {reason}.") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"The spec file {path} is no UTF-8 text; save it as UTF-8.") from error
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error


def spec_from_yaml(text: str, identity: Identity | None = None) -> RuntimeAISpec:
    """Returns the spec that a YAML document describes; `identity` is used where it names no `model_identity`.

    Raises:
        SpecError: it is no YAML, has a field twice, an unknown or a missing one, or breaks a rule.
    """
    import yaml

    try:
        document = yaml.load(text, Loader=_loader())  # noqa: S506  # a safe loader that refuses names given twice
    except yaml.YAMLError as error:
        raise SpecError(f"The spec is no YAML document: {' '.join(str(error).split())}.") from error
    if not isinstance(document, dict):
        raise SpecError("A spec is a YAML mapping of its fields, such as spec_id: my-classifier.")
    return spec_from_json(document, identity)


def spec_from_json(document: Mapping[str, Any], identity: Identity | None = None) -> RuntimeAISpec:
    """Returns the spec that a mapping of its fields describes, such as `RuntimeAISpec.as_json` gives.

    Raises:
        SpecError: it has an unknown or a missing field, or breaks a rule.
    """
    told = dict(document)
    for name, value in _FIXED.items():
        if told.pop(name, value) != value:
            raise SpecError(f"{name} must be {value}; this build knows no other.")
    if unknown := [name for name in told if name not in _GIVEN]:
        raise SpecError(f"A spec has no field {str(unknown[0])[:40]!r}; it has {', '.join(_GIVEN)}.")
    told["model_identity"] = _identity(told.get("model_identity"), identity)
    missing = [name for name, one in _GIVEN.items() if one.default is MISSING and name not in told]
    if missing:
        raise SpecError(f"The spec lacks {', '.join(missing)}.")
    return RuntimeAISpec(**told)


def _identity(told: object, default: Identity | None) -> Identity:
    if told is None and default is not None:
        return default
    if not isinstance(told, dict) or set(told) != _IDENTITY or not all(isinstance(word, str) for word in told.values()):
        raise SpecError("model_identity must name provider, model and version, each in quotes where it is a number.")
    return Identity(**told)


def _loader() -> type[Any]:
    import yaml

    class OneNameOnce(yaml.SafeLoader):
        """A safe loader that refuses a mapping with the same name twice, of which YAML would keep the last."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            names = [self.construct_object(key, deep=True) for key, _ in node.value]
            twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
            if twice is not None:
                raise yaml.constructor.ConstructorError(None, None, f"{twice!r} stands twice", node.start_mark)
            return super().construct_mapping(node, deep)

    return OneNameOnce
