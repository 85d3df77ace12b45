"""Small agents, one per SDK: a blocked action and the recovery, an ask answered in a second process, a refused end."""
