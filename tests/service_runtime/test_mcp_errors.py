from typing import Any

import pytest
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import MiddlewareContext
from mcp.types import CallToolRequestParams
from pydantic_core import ErrorDetails

from service_runtime.errors import ServiceError, SetupError
from service_runtime.mcp_errors import OneSentenceErrors, accepted, argument_sentence

SCHEMA = {
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "limit": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 50}, {"type": "null"}], "default": None},
        "people": {"type": "array", "items": {"type": "object"}, "default": []},
    },
    "required": ["title"],
}


def error(kind: str, *place: str | int) -> ErrorDetails:
    return ErrorDetails(type=kind, loc=place, msg="pydantic's words", input="the value")


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            error("missing_argument", "title"),
            "'title' of add is missing: send a text of at least 1 and at most 200 characters.",
        ),
        (
            error("string_too_long", "title"),
            "'title' of add is out of bounds: send a text of at least 1 and at most 200 characters.",
        ),
        (
            error("greater_than_equal", "limit"),
            "'limit' of add is out of bounds: send a whole number of at least 1 and at most 50, or leave it out.",
        ),
        (
            error("int_from_float", "limit"),
            "'limit' of add has the wrong type: send a whole number of at least 1 and at most 50, or leave it out.",
        ),
        (
            error("missing", "people", 0, "name"),
            "'people' of add (in 'name' of item 1) is missing: send a list, each an object, or leave it out.",
        ),
        (error("string_pattern_mismatch", "title"), "'title' of add has the wrong form: send a text"),
        (error("literal_error", "title"), "'title' of add is not one of the choices: send a text"),
        (error("null_text", "title"), "'title' of add is the text \"null\": send a text"),
        (error("string_unicode", "title"), "'title' of add is not valid: send a text"),
    ],
)
def test_a_bad_argument_is_named_with_what_to_send_instead(found: ErrorDetails, sentence: str) -> None:
    said = argument_sentence("add", SCHEMA, found)
    assert said.startswith(f"The argument {sentence}")
    assert "the value" not in said


def test_an_unknown_argument_is_answered_with_the_known_ones() -> None:
    said = argument_sentence("add", SCHEMA, error("unexpected_keyword_argument", "titel"))
    assert said == "add has no argument 'titel'; it accepts title, limit, people."
    assert argument_sentence("now", {}, error("unexpected_keyword_argument", "x")).endswith("it accepts no arguments.")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "a text"),
        ({"type": "string", "minLength": 3}, "a text of at least 3 characters"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "a text that matches ^[a-z]+$"),
        ({"type": "number", "maximum": 1.5}, "a number of at most 1.5"),
        ({"type": "boolean"}, "true or false"),
        ({"enum": ["all", "this"], "type": "string"}, "one of 'all', 'this'"),
        ({"const": "all"}, "one of 'all'"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 9}, "a list of at most 9 items, each a text"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, "a whole number or a text"),
        ({"$ref": "#/$defs/Event"}, "a value of the tool's schema"),
    ],
)
def test_a_schema_is_described_in_words(schema: dict[str, Any], words: str) -> None:
    assert accepted(schema) == words


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (ServiceError("There is no event 7; list them."), "There is no event 7; list them."),
        (SetupError("The home folder cannot be used at '/home/me/x'."), "Internal error in add: nothing came of it"),
        (OSError("/home/me/x"), "Internal error in add: nothing came of it"),
    ],
)
async def test_a_caller_reads_a_services_own_words_but_not_how_it_is_set_up(cause: Exception, sentence: str) -> None:
    async def call(context: MiddlewareContext[Any]) -> None:  # noqa: ARG001 - the SDK's name for it
        raise ToolError("masked") from cause

    context = MiddlewareContext(message=CallToolRequestParams(name="add"), method="tools/call")
    with pytest.raises(ToolError) as raised:
        await OneSentenceErrors().on_request(context, call)
    assert str(raised.value).startswith(sentence)
    assert "/home" not in str(raised.value)
