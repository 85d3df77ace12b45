"""The adapters on the real SDKs: one table of behaviour, each SDK in an environment of its own."""
