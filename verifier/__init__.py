"""Two offline verifiers of receipt chains, one file each: `verify.py` and `verify.mjs`; they import nothing of ours."""
