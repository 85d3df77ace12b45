"""The policy graph: guards, combinators, context, engine. Pure."""
