"""The live check of `verdikt doctor --live`: a real client against a scripted model on loopback."""
