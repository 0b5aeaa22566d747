"""The fits of residua.mjs by SciPy's least_squares, with exact derivatives. Prints for each data set how many starts lead to the certified minimum, and the sum of
evaluations, by method; `RUNS` gets whether each run did.
python fits.py STARTS DATA RUNS       (STARTS is what residua.mjs --starts writes; DATA has a folder nist of .dat files)
"""

import json
import sys
import warnings

import numpy as np
from numpy import arctan, exp, pi
from scipy.optimize import least_squares

warnings.filterwarnings("ignore")


def peaks(b, x):
    bell = lambda height, centre, width: height * exp(-((x - centre) ** 2) / width**2)
    return b[0] * exp(-b[1] * x) + bell(*b[2:5]) + bell(*b[5:8])


def rise(b, x):
    return b[0] * (1 - exp(-b[1] * x))


def line(b, x):
    return exp(-b[0] * x) / (b[1] + b[2] * x)


MODELS = {
    "BoxBOD": rise,
    "Chwirut1": line,
    "Chwirut2": line,
    "DanWood": lambda b, x: b[0] * x ** b[1],
    "Gauss1": peaks,
    "Gauss2": peaks,
    "Hahn1": lambda b, x: (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3),
    "Kirby2": lambda b, x: (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2),
    "Lanczos3": lambda b, x: b[0] * exp(-b[1] * x) + b[2] * exp(-b[3] * x) + b[4] * exp(-b[5] * x),
    "MGH09": lambda b, x: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]),
    "Misra1a": rise,
    "Misra1b": lambda b, x: b[0] * (1 - (1 + b[1] * x / 2) ** -2),
    "Misra1c": lambda b, x: b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5),
    "Misra1d": lambda b, x: b[0] * b[1] * x / (1 + b[1] * x),
    "Nelson": lambda b, x: b[0] - b[1] * x[0] * exp(-b[2] * x[1]),
    "Rat42": lambda b, x: b[0] / (1 + exp(b[1] - b[2] * x)),
    "Roszman1": lambda b, x: b[0] - b[1] * x - arctan(b[2] / (x - b[3])) / pi,
}
METHODS = {f"{method}{suffix}": (method, scale) for method in ("trf", "lm", "dogbox") for suffix, scale in (("", 1.0), (", x_scale 'jac'", "jac"))}


def observations(folder, name):
    lines = open(f"{folder}/nist/{name}.dat").read().splitlines()
    first = max(k for k, text in enumerate(lines) if text.strip().startswith("Data:")) + 1
    table = np.array([[float(word) for word in text.split()] for text in lines[first:] if text.strip()]).T
    if name == "Nelson":
        return np.log(table[0]), table[1:]
    return table[0], table[1]


def main(starts, folder, runs):
    results = []
    for problem in json.load(open(starts)):
        name, least = problem["name"], problem["minima"][0]
        (y, x), model = observations(folder, name), MODELS[name]

        def residuals(b):
            return model(b, x) - y

        # Complex steps, which are exact to rounding.
        def jacobian(b):
            columns = []
            for j, value in enumerate(b):
                step = 1e-20 * max(abs(value), 1e-200)
                moved = b.astype(complex)
                moved[j] += 1j * step
                columns.append(np.nan_to_num(model(moved, x).imag / step))
            return np.stack(columns, 1)

        found, evaluations = dict.fromkeys(METHODS, 0), dict.fromkeys(METHODS, 0)
        for start in problem["starts"]:
            row = {"name": name, "start": start}
            for label, (method, scale) in METHODS.items():
                try:
                    run = least_squares(residuals, np.array(start), jac=jacobian, method=method, x_scale=scale, max_nfev=1000)
                    row[label] = bool(abs(2 * run.cost - least) <= 1e-3 * least)
                    evaluations[label] += run.nfev
                except Exception:  # The start or a step is not finite.
                    row[label] = False
                found[label] += row[label]
            results.append(row)
        some = sum(any(row[label] for label in METHODS) for row in results if row["name"] == name)
        print(name, f"some method {some};", "; ".join(f"{label} {found[label]} ({evaluations[label]})" for label in METHODS), flush=True)
    json.dump(results, open(runs, "w"))


main(*sys.argv[1:])
