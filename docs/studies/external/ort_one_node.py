"""ONNX Runtime: single nodes that crash, or whose results are wrong at every level of optimization.

Usage: ort_one_node.py CASE; CASE is one of those below.
"""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

TYPES = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE,
         "int64": TensorProto.INT64}
CASES = {
    # SIGSEGV. Root cause: the kernel reads the elements of each channel although there are none; f32 fails likewise
    # where the operand is an intermediate value. Fix: return before that where there are no elements.
    "instance_norm_empty": (helper.make_node("InstanceNormalization", ["x", "s", "b"], ["y"]),
                            {"x": np.zeros((1, 1, 0), "float16"), "s": np.ones(1, "float16"),
                             "b": np.zeros(1, "float16")}, "float16", np.zeros((1, 1, 0))),
    # SIGFPE. Root cause: a division by the number of elements, which is 0. Fix: a sum of no products is 0.
    "einsum_empty": (helper.make_node("Einsum", ["x", "z"], ["y"], equation="bij,bkj->bik"),
                     {"x": np.zeros((2, 2, 0)), "z": np.zeros((2, 2, 0))}, "float64", np.zeros((2, 2, 2))),
    # Wrong by 5e-9. Root cause: the constants of the formula are f32 in f64 arithmetic.
    "gelu_tanh_f64": (helper.make_node("Gelu", ["x"], ["y"], approximate="tanh"), {"x": np.ones(1)}, "float64",
                      np.array([0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (1 + 0.044715)))])),
    # Shape (1, 1) in place of (0, 1), which the operator's page documents for a scalar. Root cause: the kernel takes a
    # scalar for a vector of one element.
    "nonzero_scalar": (helper.make_node("NonZero", ["x"], ["y"]), {"x": np.array(1, "float32")}, "int64",
                       np.zeros((0, 1))),
    # 0 in place of 2.5e-16, and wrong by 17% at -15. Root cause: the approximation is 0.5 plus a rational function.
    "sigmoid_negative": (helper.make_node("Sigmoid", ["x"], ["y"]), {"x": np.array([-36, -15], "float32")}, "float32",
                         1 / (1 + np.exp([36.0, 15.0]))),
}

if len(sys.argv) != 2 or sys.argv[1] not in CASES:
    sys.exit(f"{__doc__}\n{' '.join(CASES)}")
np.set_printoptions(precision=12)
node, inputs, dtype, expected = CASES[sys.argv[1]]
graph = helper.make_graph([node], "program",
                          [helper.make_tensor_value_info(name, TYPES[value.dtype.name], value.shape)
                           for name, value in inputs.items()],
                          [helper.make_tensor_value_info("y", TYPES[dtype], None)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
print(onnxruntime.__version__, "expected", expected, expected.shape, flush=True)
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
result = session.run(None, inputs)[0]
print("found", result, result.shape)
