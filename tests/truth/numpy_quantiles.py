"""Writes www/checks/tensors/quantiles.js: quantiles and medians of small arrays as NumPy computes them in double precision.

    python3 tests/truth/numpy_quantiles.py > www/checks/tensors/quantiles.js
"""

import json

import numpy

CASES = [
    ([1], None, 0.3),
    ([2], None, 0.5),
    ([7], None, [0, 0.1, 0.25, 0.5, 0.9, 1]),
    ([100], 0, [0.01, 0.333, 0.5, 0.995]),
    ([4, 9], 1, 0.4),
    ([4, 9], 0, [0.5, 0.75]),
    ([3, 5, 2], 1, 0.2),
    ([3, 5, 2], None, 0.7),
]


def numbers(count):
    """Multiples of 1/8, some of them equal, which single precision holds."""
    state, found = 12345, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        found.append(((state >> 8) % 161 - 80) / 8)
    return found


cases = []
for shape, axis, q in CASES:
    values = numbers(int(numpy.prod(shape)))
    array = numpy.array(values).reshape(shape)
    quantile = numpy.quantile(array, q, axis=axis)
    median = numpy.median(array, axis=axis)
    case = {
        "shape": shape,
        "axis": axis,
        "q": q,
        "values": values,
        "quantile": {"shape": list(quantile.shape), "values": quantile.ravel().tolist()},
        "median": {"shape": list(numpy.shape(median)), "values": numpy.ravel(median).tolist()},
    }
    cases.append("  " + json.dumps(case) + ",\n")

print("/** Quantiles and medians as NumPy %s computes them; written by tests/truth/numpy_quantiles.py. */" % numpy.__version__)
print("export const QUANTILES = [\n" + "".join(cases) + "];")
