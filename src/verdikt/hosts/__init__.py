"""The hosts: one folder for each, and what they share. `registry.py` lists them."""
