"""Lets `python -m vsperf` do what `vsperf` does."""

from vsperf.cli.main import main

if __name__ == "__main__":
    main()
