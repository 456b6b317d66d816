"""Programs that exchange data between places, one file or folder a driver."""
