"""Sending this machine's log to a team service. The log itself is the queue: nothing is held in memory or dropped."""
