"""The native client: its source, how it is compiled, and what stands in for it where it cannot be."""
