"""tgen behind the Open Traffic Generator model: scripts of that ecosystem drive it over HTTP."""
