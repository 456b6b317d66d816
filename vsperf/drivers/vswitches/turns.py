"""Why switches cannot take turns with others; their settings say it as `NOT_HELD`."""

KERNEL_DEVICES = (
    "a burst to a device of the kernel takes the generator over 10 µs, so it cannot tell its "
    "own work from not being let run, and no turn could be used"
)
