"""What a prompt asks for, and whether it tries to talk the agent past a check."""
