"""What programs do, as tables: one file per family."""
