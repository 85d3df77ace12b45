"""Values that a text takes from other local files: what it imports, includes or reads, one level deep."""
