"""What the earlier programs' documents say, tried as their readers would: by commands and files, not by internals."""
