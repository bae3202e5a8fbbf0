#!/usr/bin/env python3
"""Derives the polynomials of src/math/portable.def: weighted minimax fits whose coefficients are binary32 numbers.

Each fit is a Remez exchange on a dense grid. Coefficients are rounded one at a time, and the rest are fitted again around
what is fixed, so that later coefficients take up the rounding of the earlier ones.

Needs mpmath (pip install mpmath). Run: tools/fit_portable.py [name ...]
"""

import struct
import sys

from mpmath import mp, mpf, cos, erf, erfc, exp, expm1, lu_solve, log, log1p, matrix, pi, sqrt, tanh

mp.prec = 120


def to_f32(value):
    """The nearest binary32, and its bits."""
    bits = struct.unpack("<I", struct.pack("<f", float(value)))[0]
    return mpf(struct.unpack("<f", struct.pack("<I", bits))[0]), bits


def residuals(points, targets, weights, coefficients):
    result = []
    for x, target, weight in zip(points, targets, weights):
        value = mpf(0)
        for coefficient in reversed(coefficients):
            value = value * x + coefficient
        result.append((target - value) * weight)
    return result


def extrema(errors, count):
    """Indices of `count` alternating extrema, the largest run that the errors offer."""
    peaks = []
    for i, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] >= 0) == (error >= 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def remez(points, targets, weights, fixed, degree):
    """Coefficients of the minimax polynomial of this degree in which the powers in `fixed` have their values already."""
    free = [power for power in range(degree + 1) if power not in fixed]
    if not free:
        return [fixed[power] for power in range(degree + 1)]
    n, size = len(points), len(free) + 1
    chosen = [min(n - 1, int((1 - cos(pi * (2 * i + 1) / (2 * size))) / 2 * n)) for i in range(size)]
    for _ in range(30):
        system, right = matrix(size, size), matrix(size, 1)
        for row, i in enumerate(chosen):
            for column, power in enumerate(free):
                system[row, column] = points[i] ** power
            system[row, size - 1] = (-1) ** row / weights[i]
            right[row] = targets[i] - sum((c * points[i] ** power for power, c in fixed.items()), mpf(0))
        solution = lu_solve(system, right)
        values = fixed | {power: solution[column] for column, power in enumerate(free)}
        coefficients = [values[power] for power in range(degree + 1)]
        errors = residuals(points, targets, weights, coefficients)
        peaks = extrema(errors, size)
        if len(peaks) < size or max(abs(e) for e in errors) < abs(solution[size - 1]) * mpf("1.001"):
            break
        chosen = peaks
    return coefficients


def fit(name, function, weight, low, high, degree, grid=600):
    low, high = mpf(low), mpf(high)
    points = [low + (high - low) * (1 - cos(pi * (i + mpf(1) / 2) / grid)) / 2 for i in range(grid)]
    targets = [function(x) for x in points]
    weights = [weight(x) for x in points]
    ideal = max(abs(e) for e in residuals(points, targets, weights, remez(points, targets, weights, {}, degree)))
    # Powers from some power up do not alternate freely on an interval with 0 inside, so there the highest go first.
    order = range(degree + 1) if low > 0 else range(degree, -1, -1)
    fixed, patterns = {}, {}
    for power in order:
        fixed[power], patterns[power] = to_f32(remez(points, targets, weights, fixed, degree)[power])
    coefficients = [fixed[power] for power in range(degree + 1)]
    reached = max(abs(e) for e in residuals(points, targets, weights, coefficients))
    print(f"{name}: degree {degree} on [{mp.nstr(low, 6)}, {mp.nstr(high, 6)}], "
          f"weighted error 2^{mp.nstr(log(reached, 2), 5)} (real coefficients 2^{mp.nstr(log(ideal, 2), 5)})")
    for power, value in enumerate(coefficients):
        print(f"  c{power} 0x{patterns[power]:08x} {mp.nstr(value, 9)}")


def half_log2():
    return log(2) / 2 * mpf("1.0001")  # the rounding of x·log2(e) may pass the half by a little


# Each weight turns the polynomial's error into an error relative to the function's result, or to the ulp of [0.5, 1).
FITS = {
    # e^r = 1 + r + r²·q(r)
    "exp": lambda degree=4: fit("exp q(r)", lambda r: (expm1(r) - r) / r**2, lambda r: r**2 / exp(r), -half_log2(),
                                half_log2(), degree),
    # 2^f = 1 + f·ln 2 + f²·q(f)
    "exp2": lambda degree=4: fit("exp2 q(f)", lambda f: (expm1(f * log(2)) - f * log(2)) / f**2,
                                 lambda f: f**2 / mpf(2) ** f, "-0.5001", "0.5001", degree),
    # log(1 + f) = f − f²/2 + f³·q(f), f in [-1/3, 1/3]
    "log": lambda degree=7: fit("log q(f)", lambda f: (log1p(f) - f + f**2 / 2) / f**3,
                                lambda f: abs(f**3 / log1p(f)), -mpf(1) / 3, mpf(1) / 3, degree),
    # tanh a = a + a³·p(a²)
    "tanh": lambda degree=4, top="0.6875": fit("tanh p(a^2)", lambda u: (tanh(sqrt(u)) / sqrt(u) - 1) / u,
                                            lambda u: u * sqrt(u) / tanh(sqrt(u)), mpf("1e-9"), mpf(top) ** 2, degree),
    # erf a = a + c·a + a³·p(a²), c = 2/√π − 1
    "erf": lambda degree=4, top="0.9375": fit("erf p(a^2)", lambda u: (erf(sqrt(u)) / sqrt(u) - 2 / sqrt(pi)) / u,
                                              lambda u: u * sqrt(u) / erf(sqrt(u)), mpf("1e-9"), mpf(top) ** 2, degree),
    # erfc a = 2^g(a); the error counts as it reaches erf
    "erfc": lambda degree=6, low="0.9375": fit("erfc g(a)", lambda a: log(erfc(a), 2), lambda a: erfc(a) * log(2), mpf(low),
                                          mpf(4), degree),
}

if __name__ == "__main__":
    for argument in sys.argv[1:] or FITS:
        name, *parameters = argument.split(",")
        FITS[name](*[int(p) if i == 0 else p for i, p in enumerate(parameters)])
