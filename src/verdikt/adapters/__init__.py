"""One file per host: decode(payload) → Action, encode(decision) → payload."""
