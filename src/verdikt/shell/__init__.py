"""Command text → commands with argv, redirections and nesting; what is unknown is marked unknown. Pure."""
