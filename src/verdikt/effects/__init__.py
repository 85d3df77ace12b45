"""Action → effects: manifest, classifier, native tools, programs. Pure."""
