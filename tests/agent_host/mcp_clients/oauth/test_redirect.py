"""The way back to this computer hears one answer and survives everybody else."""

from __future__ import annotations

import asyncio

import pytest

from agent_host.mcp_clients.oauth.redirect import HOST, RedirectListener


async def _send(listener: RedirectListener, sent: bytes) -> bytes:
    port = int(listener.address.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(sent)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def _get(listener: RedirectListener, query: str) -> bytes:
    host = listener.address.removeprefix("http://").removesuffix("/callback")
    return f"GET /callback?{query} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


POSTED = b"POST /callback?state=s&code=c HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET", b"\r\n\r\n", b"\x16\x03\x01\xff\r\n\r\n", b"A" * 20_000, POSTED])
async def test_whatever_is_no_answer_is_passed_over(sent: bytes) -> None:
    async with RedirectListener("shop") as listener:
        listener.expect("s")
        await _send(listener, sent)
        assert b" 200 OK" in await _send(listener, _get(listener, "state=s&code=c"))
        assert (await listener.answer(1))["code"] == "c"


@pytest.mark.parametrize("query", ["state=s", "state=s&code=a&code=b", "state=t&code=c", "code=c", "state=&code=c"])
async def test_an_answer_that_is_not_of_this_login_does_not_count(query: str) -> None:
    async with RedirectListener("shop") as listener:
        listener.expect("s")
        assert b" 400 " in await _send(listener, _get(listener, query))
        with pytest.raises(TimeoutError):
            await listener.answer(0)


async def test_nothing_counts_before_the_person_was_shown_the_address() -> None:
    async with RedirectListener("shop") as listener:
        assert b" 400 " in await _send(listener, _get(listener, "state=&code=c"))


async def test_the_first_answer_stands_and_the_page_quotes_nothing_unescaped() -> None:
    async with RedirectListener("<b>") as listener:
        listener.expect("s")
        page = await _send(listener, _get(listener, "state=s&error=access_denied"))
        assert b" 200 OK" in await _send(listener, _get(listener, "state=s&code=c"))
        assert await listener.answer(1) == {"state": "s", "error": "access_denied"}
    assert b"The login to &lt;b&gt; was refused." in page
    assert b"<b>" not in page
    assert b"Content-Security-Policy: default-src 'none'" in page
