"""`python -m verdikt`."""

from verdikt.cli import main

main()
