"""verify.mjs runs on Node 18.3: nothing of a newer Node is named in it, but for one call that it can do without."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.verifier import ledger

ROOT = Path(__file__).parents[2]
SOURCE = (ROOT / "verifier" / "verify.mjs").read_text(encoding="utf-8")
CODE = re.sub(r"(?s)\A#!.*?\*/|SCHEMAS = `.*?`|/\*\*.*?\*/|(?<![:'`])//[^\n]*", "", SOURCE)
OLDEST = (18, 3)
SINCE = {  # as Node's documentation says it of each
    "crypto.createHash": (0, 1),
    "crypto.createPublicKey": (11, 6),
    "crypto.verify": (12, 0),
    "fs.closeSync": (0, 1),
    "fs.openSync": (0, 1),
    "fs.readFileSync": (0, 1),
    "fs.readSync": (0, 1),
    "fs.readdirSync": (0, 1),
    "fs.realpathSync": (0, 1),
    "fs.statSync": (0, 1),
    "os.cpus": (0, 3),
    "path.basename": (0, 1),
    "path.extname": (0, 1),
    "url.fileURLToPath": (10, 12),
    "util.parseArgs": (18, 3),
    "worker_threads.Worker": (10, 5),
    "worker_threads.isMainThread": (10, 5),
    "worker_threads.parentPort": (10, 5),
    "worker_threads.workerData": (10, 5),
}
WITHOUT = "crypto.hash"  # 20.12; asked for with ?. and replaced where it is missing
NEWER = (  # of the language and of what stands in every module: what V8 10.2 does not have
    r"\.(?:toSorted|toReversed|toSpliced|with|findLastIndexOf|isWellFormed|toWellFormed|union|intersection|difference"
    r"|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom|toHex|toBase64|setFromHex|transfer|resize|getOrInsert)\("
    r"|Object\.groupBy|Map\.groupBy|Array\.fromAsync|Promise\.(?:withResolvers|try)|Iterator\b|RegExp\.escape|fromHex"
    r"|Symbol\.(?:dispose|asyncDispose)|using |import\.meta\.(?:dirname|filename|main)|Error\.isError|Math\.sumPrecise"
    r"|navigator\b|WebSocket\b|\bwith \{|process\.(?:getBuiltinModule|loadEnvFile|features)"
    r"|/[dgimsuy]*v[dgimsuy]*[,);.]"
)


def named() -> set[str]:
    """Every name of a module of Node that the file uses."""
    whole = re.findall(r"(?m)^import (\w+) from 'node:(\w+)';$", CODE)
    parts = re.findall(r"(?m)^import \{ ([^}]+) \} from 'node:(\w+)';$", CODE)
    imported = {f"{module}.{name}" for names, module in parts for name in names.split(", ")}
    return imported | {
        f"{module}.{name}" for local, module in whole for name in re.findall(rf"(?<![\w.]){local}\.(\w+)", CODE)
    }


def test_every_import_is_of_node_itself_and_read_by_this_test() -> None:
    lines = re.findall(r"(?m)^import .*$|\bimport\(|\brequire\(", CODE)

    assert len(lines) == len(re.findall(r"(?m)^import (?:\w+|\{ [^}]+ \}) from 'node:\w+';$", CODE)) > 5


def test_all_that_is_used_of_node_is_as_old_as_the_file_says() -> None:
    assert named() == {*SINCE, WITHOUT}
    assert max(SINCE.values()) == OLDEST
    assert f"Needs Node {OLDEST[0]}.{OLDEST[1]} and nothing else" in SOURCE


def test_the_one_newer_call_is_only_asked_for() -> None:
    assert CODE.count(WITHOUT) == CODE.count(f"{WITHOUT}?.(") == 1


def test_nothing_of_a_newer_language_is_used() -> None:
    assert re.findall(NEWER, CODE) == []
    assert re.search(NEWER, "[3, 1].toSorted()")
    assert re.search(NEWER, "text.match(/a/v);")


@pytest.mark.parametrize("level", ["full", "chain"])
def test_without_the_newer_call_the_report_is_the_same(level: str, tmp_path: Path) -> None:
    chain = ledger.Chain().fill(5)
    (tmp_path / "chain.jsonl").write_bytes(chain.content)
    (tmp_path / "policy.json").write_text(json.dumps(ledger.policy()))
    args = [str(tmp_path / "chain.jsonl"), "--policy", str(tmp_path / "policy.json"), "--level", level, "--json"]
    program = f"""
        const {{ default: crypto }} = await import('node:crypto');
        if (process.env.OLD) delete crypto.hash;
        const {{ run }} = await import({json.dumps((ROOT / "verifier" / "verify.mjs").as_uri())});
        console.log(typeof crypto.hash, (await run({json.dumps(args)}, 0, 1)).stdout);
    """

    def report(old: str) -> tuple[str, str]:
        command, environment = ["node", "--input-type=module", "-e", program], {"OLD": old, "PATH": os.environ["PATH"]}
        done = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
        kind, _, text = done.stdout.partition(" ")
        return kind, text

    kind, text = report("yes")

    assert kind == "undefined"
    assert text == report("")[1]
    assert json.loads(text)["rootHash"] == ledger.tree_root(chain.lines).hex()
