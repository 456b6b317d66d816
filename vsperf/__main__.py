"""Where `vsperf` and `python -m vsperf` begin: signals first, as the rest takes long to import."""

from vsperf.stop import SignalWatch


def main() -> None:
    """Handle signals, then run the command line and exit with the documented code."""
    SignalWatch.install()
    from vsperf.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
