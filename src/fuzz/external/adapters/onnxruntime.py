"""ONNX Runtime: graphs of the ONNX operators, at each level of graph optimization."""

import zlib

from onnx_graph import Emitter, emit, graph_text, imports
from source import inputs_text, require

FORMS = ["disabled", "basic", "extended", "all"]


def version():
    import onnx  # noqa: F401
    import onnxruntime

    return f"onnxruntime {onnxruntime.__version__}"


def is_known(program, step):
    """Whether docs/studies/external.md lists what is wrong, which every campaign would find again."""
    op, attrs, tensors = step["op"], step["attrs"], program.arguments(step)
    shapes = [program.shape(arg) for arg in tensors]
    if op in ("sigmoid", "silu"):
        # Its absolute error there is that of sums near 1.
        return (program.value(tensors[0]).astype("f8") <= -2).any()
    if op == "gelu":
        return attrs["approximate"] != "none" and step["results"][0]["dtype"] == "f64"
    if op == "matmul":
        return attrs.get("transpose_a") and len(shapes[1]) < 2
    if op == "einsum":
        return any(0 in shape for shape in shapes)
    if op == "instance_norm":
        return 0 in shapes[0]
    if op == "broadcast_to":
        return 0 in step["args"][1]["ints"] and 0 not in shapes[0]
    return op == "nonzero" and not shapes[0]


def source(program):
    e = Emitter(program)
    for step in program.calls():
        emit(e, step)
        require(not is_known(program, step), "known to be wrong")
    lines = imports(e) + [
        "import onnxruntime", "",
        'FORMS = {"disabled": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,',
        '         "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,',
        '         "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,',
        '         "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL}', "",
        'VERSION = lambda: f"onnxruntime {onnxruntime.__version__}"  # noqa: E731', "", ""]
    # Half of the programs have names in place of extents.
    lines += inputs_text(program) + ["", ""] + graph_text(e, zlib.crc32("".join(e.nodes).encode()) % 2)
    lines += ["", "", "def run(form):",
              "    options = onnxruntime.SessionOptions()",
              "    options.graph_optimization_level = FORMS[form]",
              "    options.intra_op_num_threads = 1",
              "    options.log_severity_level = 4",
              "    session = onnxruntime.InferenceSession(build().SerializeToString(), options,",
              '                                           providers=["CPUExecutionProvider"])',
              "    return session.run(None, inputs())", ""]
    return "\n".join(lines)
