"""How each host is told to call the hook, and how it is told to stop calling it."""
