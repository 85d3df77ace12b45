"""One module per version of the database, oldest first; a released one is never edited."""
