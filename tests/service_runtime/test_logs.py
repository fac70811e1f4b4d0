import logging

import pytest

from service_runtime import logs
from service_runtime.errors import ServiceError, SetupError

pytestmark = pytest.mark.usefixtures("root_logger")


def test_records_go_to_stderr_from_the_level_on(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO")
    logging.getLogger("demo").debug("too small")
    logging.getLogger("demo").info("a word")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("INFO demo: a word\n")
    assert "too small" not in err


def test_the_default_level_is_warning(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(None)
    logging.getLogger("demo").info("too small")
    logging.getLogger("demo").warning("a word")
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unknown_level_is_refused_with_the_five() -> None:
    with pytest.raises(SetupError, match="use one of debug, info, warning, error, critical"):
        logs.configure("loud")


def test_an_adopted_library_follows_our_level_and_handler(capsys: pytest.CaptureFixture[str]) -> None:
    library = logging.getLogger("demo_library")
    library.addHandler(logging.StreamHandler())
    library.setLevel(logging.DEBUG)
    library.propagate = False
    logs.configure("error")
    logs.adopt("demo_library")
    library.warning("too small")
    library.error("a word")
    assert capsys.readouterr().err.count("a word") == 1


@pytest.mark.parametrize(("error", "kept"), [(ServiceError("expected"), False), (ValueError("a bug"), True)])
def test_only_unexpected_errors_are_worth_a_traceback(error: Exception, *, kept: bool) -> None:
    record = logging.LogRecord("demo", logging.ERROR, "", 1, "failed", (), (type(error), error, None))
    assert logs.unexpected_only(record) is kept
