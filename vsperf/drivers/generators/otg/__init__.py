"""Any generator that implements the Open Traffic Generator model, through its client snappi."""
