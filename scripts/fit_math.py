#!/usr/bin/env python3
"""Fits the polynomials of src/passes/math/: least squares at Chebyshev points in 50 digits, the
leading coefficients are rounded to f32 one after another, and the later ones compensate for the rounding.

Needs mpmath. Prints one line a polynomial: name, worst relative error, coefficients from degree 0 up."""
import struct

import mpmath as mp

mp.mp.dps = 50


def f32(x):
    return mp.mpf(struct.unpack('f', struct.pack('f', float(x)))[0])


def fit(name, f, lo, hi, n, weight=lambda x: mp.mpf(1)):
    """p(x) ~ f(x) on [lo, hi] with n coefficients, least squares of weight * (p - f) at Chebyshev
    points; the error printed is the largest of those."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    count = 6 * n
    points = [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count))
              for k in range(count)]
    values = [f(x) for x in points]
    fixed = []
    for k in range(n):
        matrix = mp.matrix(count, n - k)
        right = mp.matrix(count, 1)
        for i, x in enumerate(points):
            for j in range(k, n):
                matrix[i, j - k] = weight(x) * x**j
            right[i] = weight(x) * (values[i] - sum(c * x**j for j, c in enumerate(fixed)))
        fixed.append(f32(mp.lu_solve(matrix, right)[0]))
    worst = max(abs((sum(c * x**j for j, c in enumerate(fixed)) - v) * weight(x))
                for x, v in zip(points, values))
    print(f'{name}: 2^{float(mp.log(worst, 2)):.1f}: ' + ', '.join('%.9g' % float(c) for c in fixed))


S, LN2 = mp.sqrt, mp.log(2)
half = LN2 / 2
fit('exp: (e^r - 1 - r) / r^2', lambda r: (mp.exp(r) - 1 - r) / r**2, -half, half, 6, lambda r: r * r)
fit('exp2: (2^r - 1) / r', lambda r: (2**r - 1) / r, -0.5, 0.5, 7, lambda r: r)
low, high = S(mp.mpf(1) / 2) - 1, S(mp.mpf(2)) - 1
fit('log: (log(1+f) - f + f^2/2) / f^3', lambda f: (mp.log(1 + f) - f + f * f / 2) / f**3, low, high, 9,
    lambda f: f**3 / mp.log(1 + f))
edge = mp.mpf('0.1717')**2
fit('pow: (atanh(s) / s - 1 - z/3) / z^2, z = s^2',
    lambda z: (mp.atanh(S(z)) / S(z) - 1 - z / 3) / z**2, mp.mpf('1e-9'), edge, 3, lambda z: z * z)
quarter = (mp.pi / 4 * mp.mpf('1.001'))**2
fit('sin: (sin(r) / r - 1) / z', lambda z: (mp.sin(S(z)) / S(z) - 1) / z, mp.mpf('1e-9'), quarter, 4,
    lambda z: z)
fit('cos: (cos(r) - 1 + z/2) / z^2', lambda z: (mp.cos(S(z)) - 1 + z / 2) / z**2, mp.mpf('1e-9'), quarter,
    4, lambda z: z * z)
fit('asin: (asin(x) / x - 1) / z', lambda z: (mp.asin(S(z)) / S(z) - 1) / z, mp.mpf('1e-9'), 0.25, 6,
    lambda z: z)
fit('atan: (atan(x) / x - 1) / z', lambda z: (mp.atan(S(z)) / S(z) - 1) / z, mp.mpf('1e-9'), 1, 9,
    lambda z: z)
fit('sinh: (sinh(x) / x - 1) / z', lambda z: (mp.sinh(S(z)) / S(z) - 1) / z, mp.mpf('1e-9'), 1, 4,
    lambda z: z)
fit('tanh: (tanh(x) / x - 1) / z', lambda z: (mp.tanh(S(z)) / S(z) - 1) / z, mp.mpf('1e-9'),
    mp.mpf('0.65')**2, 6, lambda z: z)
fit('asinh: (asinh(x) / x - 1) / z', lambda z: (mp.asinh(S(z)) / S(z) - 1) / z, mp.mpf('1e-9'),
    mp.mpf('0.25')**2, 4, lambda z: z)
fit('atanh: (atanh(x) / x - 1) / z', lambda z: (mp.atanh(S(z)) / S(z) - 1) / z, mp.mpf('1e-9'),
    mp.mpf('0.25')**2, 5, lambda z: z)
fit('erf: erf(x) / x - 1', lambda z: mp.erf(S(z)) / S(z) - 1, mp.mpf('1e-9'), mp.mpf('0.93')**2, 7)
fit('erf to 1: erf(x) / x - 1', lambda z: mp.erf(S(z)) / S(z) - 1, mp.mpf('1e-9'), 1, 7)
fit('erfc: -log(1 - erf(a)) / a - 1', lambda a: -mp.log(mp.erfc(a)) / a - 1, mp.mpf('0.9'), 4, 8,
    lambda a: a * mp.erfc(a) / mp.erf(a))
