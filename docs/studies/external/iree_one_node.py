"""IREE: single ONNX nodes that abort the compiler, or whose results are wrong at every level of optimization.

Usage: iree_one_node.py CASE; CASE is one of those below. The causes are read from results and from the compiler's
phases (`iree-compile --compile-to=input`).
"""

import sys

import iree.compiler.version
import iree.runtime
import numpy as np
import onnx
from iree.compiler import api, ir
from iree.compiler.extras import onnx_importer
from onnx import TensorProto, helper

TYPES = {"int8": TensorProto.INT8, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
         "uint16": TensorProto.UINT16, "float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT}
CASES = {
    # 0.84114718 in place of 0.84119199. Root cause: the constant sqrt(2 / pi) has 22/7 for pi; with it, the formula
    # gives what is found, to all digits. Fix: pi.
    "gelu_tanh": (helper.make_node("Gelu", ["x"], ["y"], approximate="tanh"), {"x": np.ones(1, "float32")}, "float32",
                  [0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (1 + 0.044715)))]),
    # -7.6246 in place of -7.6009. Root cause: log(x + sqrt(x * x + 1)), whose sum cancels for negative x; in f16 the
    # square overflows, too. Fix: the function of |x|, with the sign of x.
    "asinh_negative": (helper.make_node("Asinh", ["x"], ["y"]), {"x": np.array([-1000, -50], "float32")}, "float32",
                       np.arcsinh([-1000.0, -50.0])),
    # Wrong by 0.017% at 1e-4 (in f16: 0). Root cause: (exp(x) - exp(-x)) / 2, which cancels near 0. Fix: expm1.
    "sinh_small": (helper.make_node("Sinh", ["x"], ["y"]), {"x": np.array([1e-4, 1e-3], "float32")}, "float32",
                   np.sinh([1e-4, 1e-3])),
    # Wrong by 2.8e-8 times |x|, as are Sin and Tan. Root cause: x is reduced by multiples of the f32 nearest to pi,
    # whose relative error is that. Fix: a second constant with the rest of pi.
    "cos_large": (helper.make_node("Cos", ["x"], ["y"]), {"x": np.array([124, 1e5], "float32")}, "float32",
                  np.cos([124.0, 1e5])),
    # -14.1 in place of 0.26; in f16 errors begin at quotients of 10. Root cause: x - trunc(x / y) * y, rounded at each
    # step. Fix: the function of the C library, which is exact.
    "mod_float": (helper.make_node("Mod", ["x", "z"], ["y"], fmod=1),
                  {"x": np.array([1e9], "float32"), "z": np.array([0.3], "float32")}, "float32",
                  np.fmod(np.array([1e9], "float32"), np.array([0.3], "float32"))),
    # 0.5 in place of 1, the mean of ones. Root cause: the divisor of the last window counts elements that `ceil_mode`
    # adds, which are no padding. Fix: the part of the window within the padded operand.
    "avg_pool_ceil": (helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2], strides=[2], ceil_mode=1,
                                       count_include_pad=1),
                      {"x": np.ones((1, 1, 3), "float32")}, "float32", np.ones((1, 1, 2))),
    # The process aborts. Root cause: the constant 0 of an unsigned dtype has no type in the importer's dialect.
    "sign_unsigned": (helper.make_node("Sign", ["x"], ["y"]), {"x": np.ones(1, "uint16")}, "uint16", np.ones(1)),
    # SIGFPE, as for SpaceToDepth and DepthToSpace. Root cause: a division by an extent, or a product of extents, that
    # is 0. Fix: no quotient of extents where there are no elements.
    "reshape_empty": (helper.make_node("Reshape", ["x", "s"], ["y"], allowzero=1),
                      {"x": np.ones((2, 0), "float32"), "s": np.array([0], "int64")}, "float32", np.ones(0)),
    # SIGFPE. Root cause: not known; likely a division by the number of updates, which is 0.
    "scatter_empty": (helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=0),
                      {"x": np.ones((1, 1), "float32"), "i": np.zeros((1, 0), "int64"),
                       "u": np.zeros((1, 0), "float32")}, "float32", np.ones((1, 1))),
    # SIGSEGV; the operator's page documents the shape (0, 1). Root cause: not known.
    "nonzero_scalar": (helper.make_node("NonZero", ["x"], ["y"]), {"x": np.array(1, "float32")}, "int64",
                       np.zeros((0, 1))),
    # SIGSEGV; MaxPool of i8 over two axes, and of f32 over three, work. Root cause: not known.
    "max_pool3d_i8": (helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2, 2]),
                      {"x": np.ones((1, 1, 2, 2, 2), "int8")}, "int8", np.ones((1, 1, 1, 1, 1))),
    # 254 in place of 126. Root cause: the division is one of signed integers, for each unsigned dtype.
    "div_unsigned": (helper.make_node("Div", ["x", "z"], ["y"]),
                     {"x": np.array([252], "uint8"), "z": np.array([2], "uint8")}, "uint8", np.array([126])),
    # 252 in place of 9. Root cause: the comparison is one of signed integers; Min and Max are right.
    "clip_unsigned": (helper.make_node("Clip", ["x", "", "z"], ["y"]),
                      {"x": np.array([252], "uint8"), "z": np.array(9, "uint8")}, "uint8", np.array([9])),
    # An error about the shape 1x2x1, or zeros if the operand is an intermediate value. Root cause: with unknown
    # extents and a sum over one element, the reshape of an operand to one batch is lost, and its first extent is taken
    # to be the other operand's 1.
    "einsum_unknown_extents": (helper.make_node("Einsum", ["x", "z"], ["y"], equation="abc,c->ab"),
                               {"x": np.ones((6, 2, 1), "float32"), "z": np.ones(1, "float32")}, "float32",
                               np.ones((6, 2))),
}

if len(sys.argv) != 2 or sys.argv[1] not in CASES:
    sys.exit(f"{__doc__}\n{' '.join(CASES)}")
np.set_printoptions(precision=9)
node, inputs, dtype, expected = CASES[sys.argv[1]]
unknown = sys.argv[1].endswith("unknown_extents")
print(iree.compiler.version.VERSION, "expected", np.asarray(expected).ravel(), flush=True)


def info(name, dtype, shape):
    dims = [f"n{extent}" if unknown and extent > 1 else extent for extent in shape]
    return helper.make_tensor_value_info(name, TYPES[dtype], dims)


parameters = [info(name, value.dtype.name, value.shape) for name, value in inputs.items()]
graph = helper.make_graph([node], "program", parameters,
                          [info("y", dtype, np.asarray(expected).shape)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
with ir.Context() as context:
    imported = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model, data_prop=True))
    module = imported.create_module(context=context).operation
    onnx_importer.NodeImporter.define_function(imported.main_graph, module).import_all()
    text = module.get_asm()
for level in ("O0", "O3"):
    with api.Session() as session:
        session.set_flags("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host",
                          f"--iree-opt-level={level}")
        invocation = session.invocation()
        invocation.enable_console_diagnostics()
        if not invocation.parse_source(api.Source.wrap_buffer(session, text.encode())) or not invocation.execute():
            sys.exit("refused")
        output = api.Output.open_membuffer()
        invocation.output_vm_bytecode(output)
        code = bytes(output.map_memory())
    config = iree.runtime.Config("local-sync")
    program = iree.runtime.load_vm_module(iree.runtime.VmModule.copy_buffer(config.vm_instance, code), config)
    result = program["program"](*inputs.values())
    print(level, "found", np.array(result.to_host()).view(dtype).ravel(), flush=True)
