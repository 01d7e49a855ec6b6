"""ONNX Runtime: an Expand to an extent of 0 is removed, so that the result has another shape.

Root cause: the elimination of Expand nodes that change nothing (level basic) takes a new extent of 0 for the old extent
1. Fix: only an extent of 1, or one that is equal, leaves a dimension as it is.
"""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Expand", ["a", "shape"], ["e"]),
         helper.make_node("Neg", ["e"], ["y"])]
graph = helper.make_graph(nodes, "program", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [0, 1])],
                          [numpy_helper.from_array(np.array([0, 1], "int64"), "shape")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
print(onnxruntime.__version__, "expected shape (0, 1)")
for level in ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL"):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, "ORT_" + level)
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    print(level, session.run(None, {"x": np.ones((1, 1), "float32")})[0].shape)
