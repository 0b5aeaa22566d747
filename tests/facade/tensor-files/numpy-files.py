"""Writes numpy-files.json: files of NumPy's formats, and the numbers that they hold.

Needs the package numpy: python numpy-files.py > numpy-files.json
"""
import base64
import io
import json

import numpy as np

rng = np.random.default_rng(7)


def npy(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def case(name, array, data):
    numbers = np.ascontiguousarray(array).reshape(-1)
    values = numbers.astype(np.float32) if array.dtype.kind == "f" else numbers
    return {"name": name, "shape": list(array.shape), "values": [v.item() for v in values], "file": base64.b64encode(data).decode()}


cases = []
for code in ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"]:
    if code[0] == "f":
        array = (rng.normal(size=(2, 3)) * 10).astype(code)
    else:
        array = rng.integers(-100 if code[0] == "i" else 0, 2 if code == "b1" else 100, size=(2, 3)).astype(code)
    cases.append(case(code, array, npy(array)))
    if code[1] != "1":
        cases.append(case(f"{code}, highest byte first", array, npy(array.astype(">" + code))))
array = np.arange(24, dtype="<i4").reshape(2, 3, 4)
cases.append(case("Fortran's order", np.asfortranarray(array), npy(np.asfortranarray(array))))
cases.append(case("Fortran's order of halves", array[0].astype("<f2"), npy(np.asfortranarray(array[0].astype("<f2")))))
cases.append(case("Fortran's order of a column", array[:1, :1], npy(np.asfortranarray(array[:1, :1]))))
for version in [(1, 0), (2, 0), (3, 0)]:
    cases.append(case(f"version {version[0]}", array[1], npy(array[1], version)))
cases.append(case("one number", np.float32(7), npy(np.asarray(np.float32(7)))))
cases.append(case("no number", np.zeros((0, 3), "<f4"), npy(np.zeros((0, 3), "<f4"))))
archives = []
for name, save, count in [("stored", np.savez, 20), ("deflated", np.savez_compressed, 2000)]:
    file = io.BytesIO()
    save(file, weights=np.arange(count, dtype="<f4") / 8, bias=np.arange(5, dtype="<i8") - 2)
    archives.append({"name": name, "count": count, "file": base64.b64encode(file.getvalue()).decode()})
print("{\n\"arrays\": [\n" + ",\n".join(json.dumps(c) for c in cases) + "\n],\n\"archives\": [\n" + ",\n".join(json.dumps(c) for c in archives) + "\n]}")
