"""A real client against a scripted model on loopback: the proof that a block blocks."""
