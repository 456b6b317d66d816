"""Quantities are exact, print canonically, and refuse what they cannot mean."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from all_wrong import hold_each
from config_world import CHECKOUT
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from vsperf.cli.main import run_cli
from vsperf.config.document import document_schema
from vsperf.config.loader import Request, load_cases
from vsperf.config.lookup import Library
from vsperf.plugins import Plugins
from vsperf.quantities.human import (
    End,
    counted,
    human_bytes,
    human_change,
    human_count,
    human_digests,
    human_expected,
    human_factor,
    human_fps,
    human_interval,
    human_ns,
    human_seconds,
    human_share,
    human_span,
    percent,
    rounded_share,
)
from vsperf.quantities.quantity import Quantity, UnitError
from vsperf.quantities.units import (
    Count,
    CpuSet,
    Duration,
    FrameSize,
    LinkSpeed,
    MeasuredTime,
    Rate,
    Ratio,
)

GOLDEN = Path(__file__).parents[1] / "golden"
QUANTITIES: tuple[type[Quantity], ...] = (
    FrameSize, Duration, MeasuredTime, Count, LinkSpeed, Ratio, Rate, CpuSet,
)  # fmt: skip


def golden_rows(name: str) -> list[dict[str, str]]:
    lines = (GOLDEN / name).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def line_rates() -> list[tuple[str, str, str]]:
    rows = golden_rows("frame_rates.csv")
    return [(row["size"], speed, row[speed]) for row in rows for speed in row if speed != "size"]


def printed(rate: Fraction) -> str:
    with localcontext(prec=60):
        exact = Decimal(rate.numerator) / Decimal(rate.denominator)
        return str(exact.quantize(Decimal("0.01"), rounding=ROUND_HALF_EVEN))


def test_the_golden_table_holds_all_sizes_and_speeds() -> None:
    assert len(line_rates()) == 21 * 8


def test_line_rate_is_the_exact_fraction_and_rounds_to_the_table() -> None:
    def check(row: tuple[str, str, str]) -> None:
        size, speed, expected = row
        rate = LinkSpeed.parse(speed).frames_per_second(FrameSize.parse(size))
        bits_per_second = int(speed.removesuffix("G")) * 10**9
        assert rate == Fraction(bits_per_second, 8 * (int(size) + 20))
        assert printed(rate) == expected
        assert (
            Rate.parse("100%").frames_per_second(FrameSize.parse(size), LinkSpeed.parse(speed))
            == rate
        )

    hold_each(line_rates(), check, "{0[0]} B at {0[1]}".format)


def test_line_rate_floors_to_what_the_standards_print_except_for_their_misprints() -> None:
    def check(row: dict[str, str]) -> None:
        rate = LinkSpeed.parse(row["speed"]).frames_per_second(FrameSize.parse(row["size"]))
        floored = rate.numerator // rate.denominator
        if row["remark"]:
            assert floored != int(row["printed"])
            assert row["remark"].endswith(f"floors to {floored}")
        else:
            assert floored == int(row["printed"])

    hold_each(golden_rows("published_frame_rates.csv"), check)


def test_a_frame_has_one_size_with_fcs_and_two_others_by_property() -> None:
    size = FrameSize.parse("64B")
    assert (size.bytes, int(size.on_wire)) == (64, 84)


def decimals(places: int = 20) -> st.SearchStrategy[str]:
    whole = st.integers(0, 10**12).map(str)
    part = st.text("0123456789", min_size=1, max_size=places)
    return st.one_of(whole, st.builds("{}.{}".format, whole, part))


RATE_UNITS = ("fps", "pps", "kfps", "Mpps", "Gfps", "bps L1", "Gbit/s L2", "Mbps_l1", "kbits/s l2")
rates = st.one_of(
    st.builds("{}{}".format, decimals(), st.sampled_from(RATE_UNITS)),
    st.builds("{}.{}%".format, st.integers(0, 99), st.text("0123456789", min_size=1, max_size=40)),
)
quantities: st.SearchStrategy[Quantity] = st.one_of(
    st.integers(64, 9216).map(FrameSize),
    st.integers(0, 10**18).map(Duration),
    st.integers(-(10**18), 10**18).map(lambda parts: MeasuredTime(Fraction(parts, 10**6))),
    st.integers(1, 10**15).map(Count),
    st.integers(1, 10**15).map(LinkSpeed),
    st.builds("0.{}".format, st.text("0123456789", min_size=1, max_size=40)).map(Ratio.parse),
    rates.map(Rate.parse),
    st.sets(st.integers(0, CpuSet.LIMIT - 1), min_size=1).map(CpuSet.of),
)


@given(quantities)
def test_every_quantity_is_read_back_from_its_own_text(quantity: Quantity) -> None:
    assert type(quantity).parse(str(quantity)) == quantity


@given(quantities)
def test_pydantic_writes_a_quantity_as_text_and_reads_it_back(quantity: Quantity) -> None:
    class Holder(BaseModel):
        held: type(quantity)  # type: ignore[valid-type]

    holder = Holder(held=quantity)
    assert holder.model_dump(mode="json") == {"held": str(quantity)}
    assert Holder.model_validate_json(holder.model_dump_json()) == holder


@given(st.sampled_from(QUANTITIES), st.one_of(st.text(), st.integers(), st.floats(), st.none()))
def test_whatever_is_parsed_gives_a_quantity_or_a_unit_error(
    kind: type[Quantity], value: object
) -> None:
    try:
        parsed = kind.parse(value)
    except UnitError as error:
        assert str(error)
    else:
        assert kind.parse(parsed) == parsed


@given(st.sets(st.integers(0, 255), min_size=1))
def test_a_cpu_set_is_the_same_set_as_its_mask(cpus: set[int]) -> None:
    cpu_set = CpuSet.of(cpus)
    assert CpuSet.parse(cpu_set.mask) == cpu_set
    assert list(cpu_set) == sorted(cpus)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (FrameSize, "64B", 64),
        (FrameSize, "1518 bytes", "1518"),
        (Duration, "90s", "1m30s"),
        (Duration, "1h", "60min"),
        (Duration, "0.5s", "500ms"),
        (Duration, "1µs", "1000ns"),
        (Duration, 0, "0s"),
        (MeasuredTime, "0.4ns", "0.00040us"),
        (MeasuredTime, "-1.5ms", "-1500us"),
        (Count, "1M", 1_000_000),
        (Count, "16.8M", "16_800_000"),
        (Count, 1e6, "1000k"),
        (LinkSpeed, "10G", "10000Mbit/s"),
        (Ratio, "0.5%", 0.005),
        (Ratio, "1e-5", "0.001%"),
        (Rate, "14.88Mpps", "14880kfps"),
        (Rate, "5Gbit/s L2", "5000 Mbps l2"),
        (CpuSet, "2,4-7", "0xf4"),
        (CpuSet, [7, 6, 5, 4, 2], "2,4-7"),
        (CpuSet, 3, "3"),
    ],
)
def test_two_ways_of_writing_the_same_are_equal_and_print_alike(
    kind: type[Quantity], one: object, other: object
) -> None:
    assert kind.parse(one) == kind.parse(other)
    assert hash(kind.parse(one)) == hash(kind.parse(other))
    assert str(kind.parse(one)) == str(kind.parse(other))


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (FrameSize, "63", "a frame of 63 B (FCS included) is outside 64B to 9216B"),
        (FrameSize, "64.5", "a frame size must be a whole number, 64.5 is not"),
        (FrameSize, "64C", "'64C' is not a frame size"),
        (FrameSize, "64B,128", "where there may be several, they are written [64B, 128]"),
        (FrameSize, "64B,128C", "a frame size is written like 64B, 1518, 9018B"),
        (FrameSize, True, "True is not a frame size"),
        (FrameSize, {}, "a mapping is not a frame size"),
        (Duration, 10, "10 has no unit; did you mean 10s?"),
        (Duration, "10", "'10' is not a duration"),
        (Duration, "-1s", "'-1s' is not a duration"),
        (Duration, "0.1ns", "a duration in nanoseconds must be a whole number"),
        (MeasuredTime, 10, "10 has no unit; did you mean 10s?"),
        (MeasuredTime, "--1s", "'--1s' is not a duration"),
        (Count, "0", "a count must be at least 1"),
        (Count, "1.5", "a count must be a whole number"),
        (LinkSpeed, "10", "'10' is not a link speed"),
        (LinkSpeed, "0G", "a link speed must be above zero"),
        (Ratio, "101%", "a ratio lies between 0 and 1 (0% and 100%), 101% does not"),
        (Ratio, -0.1, "-0.1 is not a ratio"),
        (Rate, 100, "100 has no unit; write 100fps, 100% or the like"),
        (Rate, "101%", "a load above 100% of the line rate cannot be offered"),
        (Rate, "5Gbit/s", "'5Gbit/s' does not say which bits it counts"),
        (Rate, "1e99fps", "1e99 is far outside any real quantity"),
        (CpuSet, "7-4", "the CPU range 7-4 runs backwards"),
        (CpuSet, "9000", "CPU numbers lie between 0 and 8191"),
        (CpuSet, [], "a CPU set holds at least one CPU"),
        (CpuSet, "0x0", "a CPU set holds at least one CPU"),
        (CpuSet, [1, "2"], "a list of CPUs holds CPU numbers only"),
        (CpuSet, True, "True is not a CPU set"),
    ],
)
def test_what_is_no_such_quantity_is_refused_with_words(
    kind: type[Quantity], value: object, message: str
) -> None:
    with pytest.raises(UnitError) as caught:
        kind.parse(value)
    assert message in str(caught.value)


def test_a_bit_rate_says_its_layer_and_layers_differ_by_the_gap() -> None:
    size, link = FrameSize(64), LinkSpeed.parse("10G")
    layer_1 = Rate.parse("8.4Gbit/s L1").frames_per_second(size, link)
    layer_2 = Rate.parse("8.4Gbit/s L2").frames_per_second(size, link)
    assert layer_1 == 12_500_000
    assert layer_2 / layer_1 == Fraction(84, 64)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (human_fps(14_880_952.4), "14.88 Mfps"),
        (human_fps(999), "999.0 fps"),
        (human_ns(950), "950 ns"),
        (counted(1, "trial"), "1 trial"),
        (counted(1_200, "trial"), "1,200 trials"),
        (human_ns(12_345), "12.35 µs"),
        (human_ns(2_000_000), "2.000 ms"),
        (human_seconds(3.25), "3.2 s"),
        (human_seconds(200), "3 min 20 s"),
        (human_seconds(7500), "2 h 05 min"),
        (human_expected(273, 65), "4 min 33 s ± 1 min 05 s"),
        (human_expected(273, 0), "4 min 33 s"),
        (human_expected(273, 10), "4 min 33 s"),
        (human_expected(273, 0, 1.2), "4 min 33 s of simulated time, some seconds here"),
        (human_expected(7200, 0, 95), "2 h 00 min of simulated time, about 2 min here"),
    ],
)
def test_people_read_four_digits_and_a_prefix(text: str, shown: str) -> None:
    assert text == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (human_share(0), "0"),
        (human_share(1e-6), "0.0001%"),
        (human_share(0.99997), "< 100%"),
        (human_share(1), "100%"),
        (human_share(1.00001), "> 100%"),
        (human_share(Fraction(10**20 - 1, 10**20)), "< 100%"),
        (human_factor(0.8), "80%"),
        (human_factor(1), "100%"),
        (human_factor(1.00001), "100.001%"),
        (human_factor(0.9999991), "99.9999%"),
        (percent(Fraction(0)), "0%"),
        (percent(Fraction(99_999, 100_000)), "< 100%"),
        (rounded_share(0), "0%"),
        (rounded_share(0.004), "> 0%"),
        (rounded_share(0.996), "< 100%"),
        (rounded_share(Fraction(9997, 10_000), 1), "< 100%"),
        (rounded_share(Fraction(1), 1), "100.0%"),
        (rounded_share(0.5, 1), "50.0%"),
    ],
)
def test_no_share_reads_as_all_or_as_nothing_that_is_neither(text: str, shown: str) -> None:
    assert text == shown


@pytest.mark.parametrize(
    ("written", "value", "lower", "upper"),
    [
        (human_fps, 4_528_985, "4.528 Mfps", "4.529 Mfps"),
        (human_fps, 4_529_000, "4.529 Mfps", "4.529 Mfps"),
        (human_fps, 999_999.5, "999.9 kfps", "1000.0 kfps"),
        (human_ns, 12_345, "12.34 µs", "12.35 µs"),
        (human_ns, 12.2, "12 ns", "13 ns"),
        (human_ns, -1_500.5, "-1.501 µs", "-1.500 µs"),
        (human_bytes, 2_049, "2.000 KiB", "2.001 KiB"),
        (human_bytes, -2_049, "-2.001 KiB", "-2.000 KiB"),
        (human_share, 0.9, "90%", "90%"),
        (human_share, 0.99999, "99.99%", "100%"),
        (human_share, Fraction(1, 3), "33.33%", "33.34%"),
        (human_factor, 0.0123456, "1.234%", "1.235%"),
        (human_count, 1_234, "1,234", "1,234"),
        (human_count, 12.34, "12.3", "12.4"),
        (human_seconds, 59.7, "59 s", "1 min 00 s"),
    ],
)
def test_an_end_of_an_interval_is_rounded_away_from_what_it_bounds(
    written: Callable[[float, End], str], value: float, lower: str, upper: str
) -> None:
    assert (written(value, End.LOWER), written(value, End.UPPER)) == (lower, upper)


@given(fps=st.integers(1, 10**12))
def test_no_rate_that_is_printed_as_a_bound_is_untrue(fps: int) -> None:
    def read(text: str) -> Fraction:
        number, unit = text.split(" ")
        return Fraction(number) * {"G": 10**9, "M": 10**6, "k": 10**3, "f": 1}[unit[0]]

    assert read(human_fps(fps, End.LOWER)) <= fps <= read(human_fps(fps, End.UPPER))


def test_a_change_and_a_coarse_share_are_rounded_likewise() -> None:
    assert [human_change(-0.108911, 2, end) for end in End] == ["-10.90%", "-10.89%"]
    assert [human_change(0.92 - 1, 2, end) for end in End] == ["-8.00%", "-8.00%"]
    assert [rounded_share(0.4996, 1, end) for end in End] == ["49.9%", "50.0%"]
    assert rounded_share(0.0001, 0, End.LOWER) == "> 0%"


def test_an_interval_says_as_much_as_is_known_of_it() -> None:
    assert human_interval(4_528_985, 4_600_001, human_fps) == "4.528 … 4.601 Mfps"
    assert human_interval(4_528_985, None, human_fps) == "≥ 4.528 Mfps"
    assert human_interval(None, 4_528_985, human_fps) == "≤ 4.529 Mfps"
    assert human_interval(999_999, 4_528_985, human_fps) == "999.9 kfps … 4.529 Mfps"


def test_what_was_found_several_times_lies_within_what_is_printed_of_it() -> None:
    assert human_span([1_999_900, 1_000_400], human_ns) == "1.000 ms to 2.000 ms"
    assert human_span([1_000_400], human_ns) == "1.000 ms"


def test_people_read_the_first_digits_of_a_digest_and_a_path_stays_whole() -> None:
    digest = "0123456789abcdef" * 4
    assert human_digests(f"guest, {digest}: Linux") == "guest, 0123456789ab…: Linux"
    commit = digest[:40]
    for whole in (f"/images/{digest}", f"/images/{digest}/initrd", f"{digest}.img", commit):
        assert human_digests(whole) == whole


# Counts of things in settings: written with a suffix or without, and kept as numbers.

MANY = 10_000
"""A number that nobody likes to count the zeros of."""
NO_COUNTS = {
    "clock_hz", "emc", "heap", "memory", "memory_mb", "mpls", "request", "response", "ring",
    "rpc_port", "rx_descriptors", "rx_ring", "tx_descriptors", "tx_ring",
}  # fmt: skip
"""Frequencies, chances, bytes, labels, ports, and powers of two, of which a thousand is none."""


def _ids(name: str, *options: str) -> list[str]:
    request = Request((name,), testbed="local", sets=options)
    cases = load_cases(request, Library.find({}, CHECKOUT), Plugins.load().specs())
    return [case.id for case in cases]


@pytest.mark.parametrize(
    ("name", "short", "long"),
    [
        ("lb_cc", "search.max_connections=20k", "search.max_connections=20000"),
        ("lb_cc", "search.rate=2.5k", "search.rate=2500"),
        ("lb_cps", "search.max_rate=1M", "search.max_rate=1000000"),
        ("places_http_open", "search.rate=1k", "search.rate=1000"),
        ("phy2phy_tput", "generator.in_flight=1k", "generator.in_flight=1000"),
    ],
)
def test_a_count_with_a_suffix_is_the_same_count(name: str, short: str, long: str) -> None:
    assert _ids(name, short) == _ids(name, long)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("20x", "'20x' is not a count\n"),
        ("20kcps", "'20kcps' is not a count\n"),
        ("1.5", "a count must be a whole number, 1.5 is not\n"),
        ("20M", "'20M' is refused: must be at most 4194304\n"),
        ("0", "0 is refused: must be at least 1\n"),
    ],
)
def test_what_is_no_count_is_refused_where_it_is_written(
    written: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    setting = f"search.max_connections={written}"
    assert run_cli(["plan", "lb_cc", "--set", setting]) == 2
    told = capfd.readouterr().err
    assert f"error: `search.max_connections`: {said}   at: --set {setting}:24\n" in told
    if "is not a count" in said:
        assert "  fix: a count is written like 1, 4096, 8k, 1M, 16.8M\n" in told


def test_every_large_count_of_things_takes_a_suffix() -> None:
    schema = document_schema(Plugins.load().specs())
    bare = {name for name, part in _settings(schema) if part.get("maximum", 0) >= MANY}
    assert bare == NO_COUNTS


def _settings(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all settings that are plain integers, by name."""
    if isinstance(part, list):
        for one in part:
            yield from _settings(one)
    if not isinstance(part, dict):
        return
    for name, setting in (part.get("properties") or {}).items():
        yield from ((name, one) for one in _integers(setting))
    for one in part.values():
        yield from _settings(one)


def _integers(setting: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for choice in [setting, *setting.get("anyOf", []), setting.get("items") or {}]:
        if choice.get("type") == "integer":
            yield choice
