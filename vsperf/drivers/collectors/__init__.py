"""What the machine did meanwhile: drivers that collect series around trials, one file each."""
