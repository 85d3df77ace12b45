"""The pages of the team service: static files, and nothing else."""
