"""Writes ggml-blocks.json: for each quantised type of GGML random blocks, and the numbers that GGML's Python package `gguf` makes of them.

Needs the packages numpy and gguf: python ggml-blocks.py > ggml-blocks.json
"""
import base64
import json

import numpy as np
from gguf import GGMLQuantizationType as Type, quants
from gguf.constants import GGML_QUANT_SIZES

rng = np.random.default_rng(16)
# Where half-precision scales stand in a block: random bytes there may be infinite.
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [],
}


def text(array):
    return base64.b64encode(array.tobytes()).decode()


cases = {}
for name, halves in HALVES.items():
    qtype = Type[name]
    numbers, width = GGML_QUANT_SIZES[qtype]
    count = 4 if numbers == 32 else 2
    blocks = rng.integers(0, 256, size=(count, width), dtype=np.uint8)
    for at in halves:
        blocks[:, at:at + 2] = rng.normal(0, 0.05, size=(count, 1)).astype(np.float16).view(np.uint8)
    if name == "MXFP4":
        blocks[:, 0] = [118, 124, 130, 121]
    values = quants.dequantize(blocks.reshape(1, -1), qtype).astype(np.float32)
    again = quants.quantize(values, Type.Q8_0)
    cases[name] = {"code": int(qtype), "numbers": int(numbers), "bytes": int(width), "blocks": text(blocks), "values": text(values), "q8_0": text(again)}
print("{\n" + ",\n".join(f"  {json.dumps(name)}: {json.dumps(case)}" for name, case in cases.items()) + "\n}")
