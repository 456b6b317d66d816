"""Where `vsperf` and `python -m vsperf` begin: signals first, as the rest takes long to import."""

import sys

from vsperf.stop import SignalWatch


def main() -> None:
    """Handle signals, then run the command line and exit with the documented code."""
    SignalWatch.install()
    if sys.argv[1:2] == ["clean"]:
        from vsperf.host.giving_way import give_way

        give_way()
    from vsperf.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
