"""The nouns: frozen values that refuse to exist when wrong. Pure."""
