"""The commands of `receipt-writer`, by what they need: the files, a running writer, or the keys."""
