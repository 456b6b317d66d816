"""From a case to running parts: the plan, and carrying it out."""
