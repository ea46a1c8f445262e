"""The rules of dual numbers against differences of the functions themselves, of first and second order."""

import numpy as np

from evaluator import duals

STEP = 1e-4
PLACES = (0.3, 0.8, 1.7)
SPECIAL = [duals.sigmoid, duals.softplus, duals.erf, duals.erfc]


def _moved(x, u, v):
    """x along u at level 1 and along v at level 2."""
    return x + duals.Dual(1, np.zeros(()), np.array(u)) + duals.Dual(2, np.zeros(()), np.array(v))


def _wrong(function, places, u, v):
    """The mistakes in the derivatives along u and v of a function of one or two numbers."""
    def at(s, t):
        return float(function(*[np.array(x + s*STEP*a + t*STEP*b) for x, a, b in zip(places, u, v)]))
    found = function(*[_moved(np.array(x), a, b) for x, a, b in zip(places, u, v)])
    expected = {(1,): (at(1, 0) - at(-1, 0))/(2*STEP), (2,): (at(0, 1) - at(0, -1))/(2*STEP),
                (1, 2): (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1))/(4*STEP**2)}
    return [f"{levels}: {float(duals.derivative(found, *levels)):.9g}, not {want:.9g}" for levels, want in expected.items()
            if abs(float(duals.derivative(found, *levels)) - want) > 1e-5*max(1, abs(want))]


def run():
    """Run all; how many fail."""
    failed = checked = 0
    for function in [*duals.FUNCTIONS, *SPECIAL]:
        two = getattr(function, "nin", 1) == 2
        for x in PLACES:
            for sign in (1,) if function in (np.log, np.sqrt, np.power, np.fmod) else (1, -1):
                places, u, v = ((sign*x, 1.3), (0.7, -0.4), (0.2, 0.9)) if two else ((sign*x,), (0.7,), (-1.1,))
                if function is np.log1p and sign*x <= -1:
                    continue
                wrong = _wrong(function, places, u, v)
                checked += 1
                failed += bool(wrong)
                for what in wrong:
                    print(f"selftest: {getattr(function, '__name__', function)} at {places}: {what}")
    print(f"selftest: {checked} checks, {failed} failed")
    return failed
