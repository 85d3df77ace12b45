"""For every test."""

from hypothesis import settings

# How long an example takes is the machine's business, not the test's.
settings.register_profile("verdikt", deadline=None)
settings.load_profile("verdikt")
