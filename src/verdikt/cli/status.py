"""With which status each command ends."""

STATUSES: tuple[tuple[str, int, str], ...] = (
    ("every command", 0, "done, nothing found wrong"),
    ("every command", 2, "the command line is not understood"),
    ("every command that reads a policy", 65, "the policy cannot be loaded; one message for each fault on stderr"),
    ("`policy lint`", 1, "a rule never fires, never decides or contradicts another"),
    ("`policy test`", 1, "a case failed, or none was found"),
    ("`policy test`", 65, "a case cannot be read"),
)
"""Command, status, what it means."""
