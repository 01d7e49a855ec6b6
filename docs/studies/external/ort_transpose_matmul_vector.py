"""ONNX Runtime: a Transpose before a MatMul with a vector on its right is fused into a wrong product.

Root cause: the fusion of Transpose and MatMul (level extended) sets transA of a FusedMatMul without regard to a second
operand of rank 1; the product of a matrix and a vector ignores it. Fix: no fusion where the other operand has rank 1.
"""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["t", "v"], ["y"])]
graph = helper.make_graph(nodes, "program",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2]),
                           helper.make_tensor_value_info("v", TensorProto.FLOAT, [2])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
x, v = np.array([[1, 2], [3, 4]], "float32"), np.array([1, 1], "float32")
print(onnxruntime.__version__, "expected", x.T @ v)
for level in ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL"):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, "ORT_" + level)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    print(level, session.run(None, {"x": x, "v": v})[0])
