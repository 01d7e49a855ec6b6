"""ONNX Runtime: the shape of a pooled tensor is folded to another one than the pooling gives.

Root cause: with ceil_mode, shape inference counts a last window that begins behind the input, which the kernel leaves
out; constant folding (level basic) replaces the Shape node by the inferred one. Fix: one rule for both.
"""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

nodes = [helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[1, 1], strides=[3, 1], ceil_mode=1, dilations=[2, 1]),
         helper.make_node("Shape", ["p"], ["y"])]
graph = helper.make_graph(nodes, "program", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 2, 1])],
                          [helper.make_tensor_value_info("y", TensorProto.INT64, [4])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
print(onnxruntime.__version__, "expected [1 2 1 1]")
for level in ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL"):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, "ORT_" + level)
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    print(level, session.run(None, {"x": np.zeros((1, 2, 2, 1), "float32")})[0])
