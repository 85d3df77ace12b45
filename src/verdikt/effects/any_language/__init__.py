"""Read program text of any language by the words that meet in it, for what no reader of a language understands."""
