"""Makes the vectors that follow from the norm alone: `python -m tests.receipt_writer.format.generate` writes them.

The folder v2 is frozen: what is made for it from today's table must come out as it was published.
"""

from __future__ import annotations

import json

from receipt_writer.format.schema import ATTESTATION, LAYERS, describe_table
from tests.receipt_writer.format import edwards, trees
from tests.receipt_writer.format.material import VECTORS

TREE_SIZES = 9
PUBLISHED_IN_V2 = {"L10": ("v2",), "L12": ("v1", "v2")}


def published_schema() -> object:
    """Return the part of the table that the folder v2 published."""
    layers = {
        name: {
            "chain": LAYERS[name].chain,
            "forms": {form: LAYERS[name].form(form).body.describe() for form in forms},
        }
        for name, forms in PUBLISHED_IN_V2.items()
    }
    return {"attestation": ATTESTATION.describe(), "layers": layers}


def merkle() -> object:
    leaves = trees.numbered_leaves(TREE_SIZES)
    sizes = range(1, TREE_SIZES + 1)
    return {
        "leaves": "leaf i is SHA-256 of a zero byte and the decimal digits of i, from 0",
        "roots": [trees.tree_head(leaves[:size]).hex() for size in range(TREE_SIZES + 1)],
        "inclusion": [
            {"index": index, "size": size, "path": [node.hex() for node in trees.audit_path(index, leaves[:size])]}
            for size in sizes
            for index in range(size)
        ],
        "consistency": [
            {
                "from": smaller,
                "to": larger,
                "path": [node.hex() for node in trees.consistency_proof(smaller, leaves[:larger])],
            }
            for larger in sizes
            for smaller in range(1, larger + 1)
        ],
    }


def ed25519_edges() -> object:
    order = edwards.ORDER
    return {
        "lowOrderPoints": [point.hex() for point in edwards.low_order_encodings()],
        "nonCanonicalPoints": [point.hex() for point in edwards.non_canonical_encodings()],
        "scalarsBelowTheOrder": [scalar.to_bytes(32, "little").hex() for scalar in (0, 1, order - 1)],
        "scalarsNotBelowTheOrder": [
            scalar.to_bytes(32, "little").hex() for scalar in (order, order + 1, 2**253 - 1, 2**255, 2**256 - 1)
        ],
    }


def documents() -> dict[str, str]:
    """Return the text of every generated file by its path under `verifier/vectors`."""
    made = {
        "v2/schema.json": published_schema(),
        "v2/merkle.json": merkle(),
        "v2/ed25519-edges.json": ed25519_edges(),
        "v3/schema.json": describe_table(),
    }
    return {path: json.dumps(document, indent=1) + "\n" for path, document in made.items()}


if __name__ == "__main__":
    for path, text in documents().items():
        (VECTORS.parent / path).write_text(text, encoding="utf-8", newline="\n")
