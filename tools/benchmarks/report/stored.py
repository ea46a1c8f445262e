"""Results in one form for all rows, and the file that has them: what each side took, what is missing
and why; a bench adds what it knows of the row."""
import json
import os
import statistics
import time


def result(row, **more):
    return dict(name=row.name, group=row.group, unit=row.unit, threads=row.threads, **more,
                times={}, missing={}, when=now())


def now():
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime())


def timed(side, clock="wall"):
    """The part of a result that stores a side's times."""
    times = side.cpu_us if clock == "cpu" else side.times_us
    return dict(median_us=round(statistics.median(times), 3), calls=side.calls,
                us=[round(t, 3) for t in times])


def read(path):
    if not path or not os.path.exists(path):
        return []
    with open(path) as f:
        return json.load(f)


def write(path, results):
    """The file is whole at any time."""
    with open(path + ".part", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in results) + "\n]\n")
    os.replace(path + ".part", path)
