"""Pure search algorithms: they ask for trials until their goal is met."""
