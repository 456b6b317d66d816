"""IxNetwork, by the REST interface of its API server, in plain HTTP."""
