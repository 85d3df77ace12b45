"""The log: chain, keys, stores, rotation."""
