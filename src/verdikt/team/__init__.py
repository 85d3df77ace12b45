"""The pure part of the team service: what goes over the wire, how chains are continued, what is indexed. No I/O."""
