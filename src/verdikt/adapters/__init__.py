"""Import paths promised to users; the hosts themselves are in `verdikt.hosts`."""
