"""Handlers: what a record of the knowledge base cannot express, one module per family of programs."""
