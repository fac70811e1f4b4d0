from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_host.errors import ConfigurationError
from agent_host.mcp_clients.config import ServerConfig, merged, read_servers
from agent_host.mcp_clients.server_config import OAuthSettings


def _write(folder: Path, servers: dict[str, Any]) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


def _problem(path: Path, environ: Mapping[str, str] | None = None) -> str:
    (server,) = merged((), read_servers(path, environ or {}))
    assert server.problem is not None
    assert server == ServerConfig(server.name, problem=server.problem)  # nothing of it can be used
    return server.problem


def test_no_file_means_no_servers(tmp_path: Path) -> None:
    assert read_servers(tmp_path / "mcp.json", {}) == ()


def test_both_kinds_of_server_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    path = _write(
        tmp_path,
        {
            "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "UTC"}, "startup_timeout_s": 5},
            "far": {"url": "https://example.org/mcp", "token_env": "FAR_TOKEN", "type": "http"},
            "near": {"url": "http://127.0.0.1:1/mcp", "token_file": "token"},
            "plain": {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Team": "a"}},
        },
    )
    servers = read_servers(path, {"FAR_TOKEN": " from-env "})
    assert servers == (
        ServerConfig("time", command="uvx", args=("mcp-server-time",), env={"TZ": "UTC"}, startup_timeout_s=5.0),
        ServerConfig("far", url="https://example.org/mcp", token="from-env"),
        ServerConfig("near", url="http://127.0.0.1:1/mcp", token="from-file"),
        ServerConfig("plain", url="http://127.0.0.1:1/mcp", oauth=OAuthSettings(), headers={"X-Team": "a"}),
    )


def test_a_disabled_server_and_the_keys_of_other_hosts_are_passed_over(tmp_path: Path) -> None:
    servers = {"off": {"command": "x", "disabled": True}, "on": {"command": "y", "autoApprove": ["a"], "timeout": 3}}
    configured = read_servers(_write(tmp_path, servers), {})
    assert merged((), configured) == (ServerConfig("on", command="y"),)


def test_a_disabled_entry_switches_the_built_in_server_of_its_name_off(tmp_path: Path) -> None:
    configured = read_servers(_write(tmp_path, {"memory": {"disabled": True}}), {})
    builtin = (ServerConfig("memory", command="m"), ServerConfig("notes", command="n"))
    assert merged(builtin, configured) == (ServerConfig("notes", command="n"),)


def test_a_login_is_possible_wherever_there_is_no_other_way_in(tmp_path: Path) -> None:
    url = "https://example.org/mcp"
    own = {"client_id": "me", "client_secret_env": "S", "scope": "read", "redirect_port": 8765}
    servers: dict[str, Any] = {
        "said": {"url": url, "oauth": True},
        "own": {"url": url, "oauth": own},
        "unsaid": {"url": url},
        "never": {"url": url, "oauth": False},
        "token": {"url": url, "token_env": "S"},
        "header": {"url": url, "headers": {"Authorization": "Bearer x"}},
        "ours": {"url": url, "builtin": True},
    }
    read = {server.name: server.oauth for server in read_servers(_write(tmp_path, servers), {"S": "hush"})}
    assert read.pop("said") == OAuthSettings(asked_for=True)
    assert read.pop("own") == OAuthSettings(
        asked_for=True, client_id="me", client_secret="hush", scope="read", redirect_port=8765
    )
    assert read.pop("unsaid") == OAuthSettings()
    assert set(read.values()) == {None}


def test_a_byte_order_mark_is_no_reason_to_refuse(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"a": {"command": "x"}}}', encoding="utf-8-sig")
    assert [server.name for server in read_servers(path, {})] == ["a"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "x", "url": "http://a/mcp"}, "one of `command`"),
        ({}, "one of `command`"),
        ("x", "must be an object"),
        ({"command": ""}, "`command` as a text"),
        ({"command": "x", "args": "a b"}, "`args` as a list"),
        ({"command": "x", "env": {"A": 1}}, "`env` as an object of texts"),
        ({"url": "localhost/mcp"}, "web address"),
        ({"url": "ftp://a/mcp"}, "web address"),
        ({"url": "http://[/mcp"}, "web address"),
        ({"url": "http://me:s3cret@a/mcp"}, "name or password"),
        ({"url": "http://a/sse", "type": "sse"}, "retired SSE"),
        ({"url": "http://a/mcp", "token_env": "NOT_SET"}, "NOT_SET, which is not set"),
        ({"url": "http://a/mcp", "token_file": "missing"}, "missing, which cannot be read"),
        ({"url": "http://a/mcp", "token_env": "SET", "token_file": "x"}, "two ways to authenticate"),
        ({"url": "http://a/mcp", "token_env": "SET", "headers": {"authorization": "x"}}, "two ways to authenticate"),
        ({"url": "http://a/mcp", "token_env": "ODD"}, "characters no token has"),
        ({"command": "x", "startup_timeout_s": 0}, "startup_timeout_s"),
        ({"command": "x", "startup_timeout_s": True}, "startup_timeout_s"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_by_name(tmp_path: Path, entry: object, words: str) -> None:
    path = _write(tmp_path, {"mine": entry})
    message = _problem(path, {"SET": "s3cret", "ODD": "s3cret with space"})
    assert "'mine'" in message
    assert words in message
    assert message.endswith(".")
    assert "s3cret" not in message


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101])
def test_a_server_needs_a_name_that_can_be_shown(tmp_path: Path, name: str) -> None:
    assert "printable" in _problem(_write(tmp_path, {name: {"command": "x"}}))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"mcpServers": {\n  "a": }', "line 2"),
        (b'{"mcpServers": ' + b"[" * 9999 + b"]" * 9999 + b"}", "not valid JSON; correct it"),
        (b"[]", "no servers"),
        (b'{"mcpServers": []}', "no servers"),
        (b'{"mcpservers": {}}', "has a member 'mcpservers' that nothing reads; write 'mcpServers'"),
        (b'{"mcpServers": {}, "mcpServers": {}}', "has 'mcpServers' twice"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=words):
        read_servers(path, {})


def test_secrets_do_not_show_when_a_server_is_printed() -> None:
    server = ServerConfig("a", url="http://a/mcp", token="s3cret", headers={"X": "s3cret"}, env={"KEY": "s3cret"})
    assert "s3cret" not in repr(server)


def test_an_address_for_messages_leaves_out_the_query() -> None:
    assert ServerConfig("a", url="https://a.example:8/mcp?apiKey=s3cret").address == "https://a.example:8/mcp"


def test_a_configured_server_takes_the_place_of_the_built_in_one() -> None:
    builtin = (ServerConfig("memory", command="python"), ServerConfig("notes", command="python"))
    far = ServerConfig("memory", url="http://memory:8931/mcp")
    extra = ServerConfig("time", command="uvx")
    assert merged(builtin, (far, extra)) == (far, builtin[1], extra)


def test_a_list_of_servers_is_read_as_well_as_an_object_of_them(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    listed = [{"name": "a", "command": "x"}, {"name": "b", "url": "https://example.org/mcp", "auth_env": "B_TOKEN"}]
    path.write_text(json.dumps({"mcpServers": {"c": {"command": "z"}}, "servers": listed}), encoding="utf-8")
    assert read_servers(path, {"B_TOKEN": "t"}) == (
        ServerConfig("c", command="z"),
        ServerConfig("a", command="x"),
        ServerConfig("b", url="https://example.org/mcp", token="t"),
    )


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ([{"command": "x"}], "Entry 1 of `servers`"),
        (["x"], "Entry 1 of `servers`"),
        ({"a": {}}, "has no servers to read"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_with_the_entry(tmp_path: Path, listed: object, words: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"servers": listed}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=words):
        read_servers(path, {})


def test_variables_in_a_server_are_filled_in_so_that_the_file_holds_no_secret(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        {
            "a": {"command": "x", "args": ["--key=${KEY}"], "env": {"TOKEN": "${KEY}!"}},
            "b": {"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
        },
    )
    first, second = read_servers(path, {"KEY": "k", "HOST": "example.org"})
    assert (first.args, first.env) == (("--key=k",), {"TOKEN": "k!"})
    assert (second.url, second.headers) == ("https://example.org/mcp", {"Authorization": "Bearer k"})


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "x", "env": {"A": "${NOT_THERE}"}}, "environment variable NOT_THERE, which is not set"),
        ({"url": "https://a.b/mcp", "auth_env": "NOT_THERE"}, "environment variable NOT_THERE, which is not set"),
        ({"url": "https://a.b/mcp", "auth_env": "A", "oauth": {}}, "two ways to authenticate"),
        ({"url": "https://a.b/mcp", "oauth": {"id": "x"}}, "needs `oauth` as true, false or an object of client_id"),
        ({"url": "https://a.b/mcp", "oauth": {"client_id": 7}}, "needs `client_id`, `client_secret_env` and `scope`"),
        ({"url": "https://a.b/mcp", "oauth": {"client_secret_env": "A"}}, "`client_secret_env` in `oauth` without"),
        ({"url": "https://a.b/mcp", "oauth": {"redirect_port": 70000}}, "`redirect_port` in `oauth` as a port"),
        ({"url": "https://a.b/mcp", "oauth": True, "headers": {"Authorization": "x"}}, "two ways to authenticate"),
        ({"command": "x", "permissions": "maybe"}, "needs `permissions` as allow, ask or deny"),
        ({"command": "x", "permissions": {"write": ["ask"]}}, "needs `permissions` as allow, ask or deny"),
        ({"command": "x", "permissions": ["ask"]}, "needs `permissions` as allow, ask or deny"),
        ({"command": "x", "permissions": {"delete_*": "deny"}}, "has 'delete_*' in `permissions`; name each tool"),
        ({"command": "x", "permission": "deny"}, "has a member 'permission' that nothing reads; write `permissions`"),
        ({"permisions": {"x": "deny"}}, "has a member 'permisions' that nothing reads; write `permissions`"),
        ({"Command": "x"}, "has a member 'Command' that nothing reads; write `command`"),
        ({"command": "x", "disabled": "true"}, "needs `disabled` as true or false"),
        ({"command": "x", "enabled": 0}, "needs `enabled` as true or false"),
        ({"url": "https://a.b/mcp", "token": "abc"}, "holds a `token`; put it into an environment variable"),
        ({"command": "x", "token_env": "A"}, "has `token_env`, which a server that is started does not get"),
        ({"url": "https://a.b/mcp", "headers": {"X Y": "a"}}, "has a header 'X Y'"),
        (
            {"url": "https://a.b/mcp", "headers": {"X-Y": "a\r\nb"}},
            "in its header 'X-Y' that HTTP cannot carry",
        ),
        ({"url": "https://a.b/mcp", "headers": {"X-Y": "é"}}, "in its header 'X-Y' that HTTP cannot carry"),
        ({"command": "x", "args": ["a\0b"]}, "has a NUL character in `args`"),
        ({"command": "x", "env": {"A": "a\0b"}}, "has a NUL character in `env`"),
        ({"command": "x", "env": {"": "c"}}, "has a variable '' in `env`"),
        ({"command": "x", "env": {"A=B": "c"}}, "has a variable 'A=B' in `env`"),
        ({"command": "x", "cwd": "a\0b"}, "has a NUL character in `cwd`"),
        ({"command": "x", "args": ["\ud800"]}, "has half a character in `args`"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence_that_names_it(
    tmp_path: Path, entry: dict[str, Any], words: str
) -> None:
    assert words in _problem(_write(tmp_path, {"far": entry}), {"A": "t"})


def test_permissions_are_read_for_a_server_and_for_its_tools(tmp_path: Path) -> None:
    servers = {"a": {"command": "x", "permissions": "deny"}, "b": {"command": "y", "permissions": {"read": "ask"}}}
    first, second = read_servers(_write(tmp_path, servers), {})
    assert (first.permissions, second.permissions) == ({"*": "deny"}, {"read": "ask"})


def test_permissions_alone_are_about_the_built_in_server_of_that_name(tmp_path: Path) -> None:
    configured = read_servers(_write(tmp_path, {"memory": {"permissions": {"memory_forget": "ask"}}}), {})
    builtin = ServerConfig("memory", command="m", builtin=True)
    assert merged((builtin,), configured) == (
        ServerConfig("memory", command="m", builtin=True, permissions={"memory_forget": "ask"}),
    )
    (alone,) = merged((), configured)
    assert alone.problem is not None
    assert "a server 'memory' that is not there" in alone.problem


def test_a_server_that_cannot_be_used_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    path = _write(tmp_path, {"a": {"command": "x"}, "b": {"url": "https://a.b/mcp", "token_env": "NOPE"}, "c": 7})
    first, *others = read_servers(path, {})
    assert first == ServerConfig("a", command="x")
    assert [server.problem is None for server in others] == [False, False]


def test_an_entry_that_cannot_be_used_is_not_replaced_by_the_built_in_server_of_its_name(tmp_path: Path) -> None:
    configured = read_servers(_write(tmp_path, {"memory": {"permission": "deny"}}), {})
    assert [bool(server.problem) for server in merged([ServerConfig("memory", command="m")], configured)] == [True]


def test_a_server_is_off_when_another_hosts_word_says_so(tmp_path: Path) -> None:
    servers = {"off": {"command": "x", "enabled": False}, "on": {"command": "y", "enabled": True}}
    configured = read_servers(_write(tmp_path, servers), {})
    assert merged((), configured) == (ServerConfig("on", command="y"),)


def test_a_variable_may_have_a_text_for_when_it_is_not_set(tmp_path: Path) -> None:
    path = _write(tmp_path, {"a": {"command": "x", "args": ["${NOPE:-d e}", "${SET:-d}", "${NOPE:-}"]}})
    (server,) = read_servers(path, {"SET": "s", "NOPE": ""})
    assert server.args == ("d e", "s", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "evil"}}}', "names the server 'a' twice"),
        ('{"mcpServers": {"a": {"command": "x"}}, "servers": [{"name": "a", "command": "y"}]}', "'a' twice"),
        (
            '{"mcpServers": {"a": {"command": "x", "permissions": "deny", "permissions": "allow"}}}',
            "'permissions' twice",
        ),
        ('{"mcpServers": {"a": {"command": "x", "permissions": {"w": "deny", "w": "allow"}}}}', "'w' twice in"),
    ],
)
def test_what_is_said_twice_is_not_taken_from_the_last(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text, encoding="utf-8")
    assert words in _problem(path)
