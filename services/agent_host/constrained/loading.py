"""Specs as YAML or JSON, so that a person adds one without Python; the fields are those of `RuntimeAISpec`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final

from agent_host.constrained.spec import CANONICAL_FORM, SCHEMA_VERSION, RuntimeAISpec
from agent_host.errors import SpecError
from agent_host.providers.protocol import Identity

_GIVEN: Final = {one.name: one for one in fields(RuntimeAISpec) if one.init}
_FIXED: Final = {"schema_version": SCHEMA_VERSION, "canonical_form": CANONICAL_FORM}
_NOT_RESOLVED: Final = frozenset({"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int"})
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)\Z")
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
    except RecursionError as error:
        raise SpecError("The spec is nested too deeply to be read.") from error
    except ValueError as error:  # a scalar that looks like a number and is none that Python reads
        raise SpecError(f"The spec holds a value that cannot be read ({error}); put it in quotes.") from error
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

    class SpecLoader(yaml.SafeLoader):
        """A safe loader without what surprises: a name given twice, of which YAML would keep the last; dates; base 60.

        A date stays the text that it is, and so does 20:00, which YAML 1.1 takes for 1,200.
        """

        def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
            node: yaml.MappingNode = super().compose_mapping_node(anchor)
            names = Counter((key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            twice = next((name for (_, name), times in names.items() if times > 1), None)
            if twice is not None:
                raise yaml.constructor.ConstructorError(None, None, f"{twice!r} stands twice", node.start_mark)
            return node

    SpecLoader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NOT_RESOLVED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    SpecLoader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
    return SpecLoader
