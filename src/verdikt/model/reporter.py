"""Who records a finding or ends a review."""

import enum


class Reporter(enum.StrEnum):
    """The identity of the one that records a finding or ends a review."""

    COMMAND = "command"  # a reviewer's declared command, which verdikt itself ran
    REVIEWER = "reviewer"  # an agent that has the reviewer's key
    PERSON = "person"  # a program that runs outside of any agent
    AGENT = "agent"  # an agent under governance that names a reviewer
    CARRIED = "carried"  # verdikt, from an earlier plan
