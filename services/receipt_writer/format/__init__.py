"""The ledger's format, pure: values and bytes in, values and bytes or one named error out.

Read in this order. `errors` and `kinds` are the vocabulary. `schema` is the one table of what an entry may say.
`canonical` turns a value into its only bytes, `digest` and `signing` hash and sign them, `entry` makes one line,
`chain` joins lines, `merkle` and `checkpoint` let strangers check a part, `policy` says whom to trust.

Nothing here reads a clock, a file, a socket or a random source: time, keys and openings are arguments.
`docs/receipt-format.md` is the norm, rule by rule (RF-1, RF-2, …); each module names the rules that it keeps.
"""
