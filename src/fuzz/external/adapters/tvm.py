"""Apache TVM: Relax programs, through its pipelines, and through its passes in orders that each program draws."""

import zlib

import numpy as np

from source import (DTYPES, Inexpressible, array_text, check_cast, clip_bounds, has_sums, inputs_text, is_float,
                    is_integer, no_nan, number_text, numpy_dtype, order_of_axes, require, require_distinct)

# FORMS of a program, below. The first has no pass but those that make code.
FORMS = ["default", "fused", "cpu", "shuffled", "compiled"]

# Passes that may run in any order, and keep every rounding.
PASSES = ["CanonicalizeBindings", "EliminateCommonSubexpr", "DeadCodeElimination", "FoldConstant",
          "CombineParallelMatmul", "ReorderTakeAfterMatmul", "ReorderPermuteDimsAfterConcat", "RemoveRedundantReshape",
          "Normalize", "NormalizeGlobalVar", "ConvertToDataflow", "TopologicalSort", "OptimizeLayoutTransform",
          "LambdaLift", "InlinePrivateFunctions", "RemoveUnusedOutputs", "RemoveUnusedParameters",
          "ExpandTupleArguments", "DecomposeOpsForInference", "FuseTransposeMatmul"]

UNARY = {name: name for name in ("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
                                 "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid")}
UNARY |= {"silu": "nn.silu"}
NUMBER = {"negative": "negative", "abs": "abs", "sign": "sign", "square": "square", "relu": "nn.relu"}
ROUNDINGS = ("floor", "ceil", "round", "trunc")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
REDUCTIONS = ("sum", "mean", "prod", "max", "min", "variance")
PAD_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "circular": "circular"}


def version():
    import tvm

    return f"tvm {tvm.__version__}"


class Emitter:
    """The bindings of one program."""

    def __init__(self, program):
        self.program = program
        self.lines = []
        self.count = 0

    def call(self, op, *args, **attributes):
        texts = list(map(str, args)) + [f"{key}={value!r}" for key, value in attributes.items()]
        return f"relax.op.{op}({', '.join(texts)})"

    def operand(self, arg, dtype=None):
        found = self.program.dtype(arg)
        text = arg["name"] if "name" in arg else self.constant(self.program.value(arg))
        return text if dtype in (None, found) else self.cast(text, dtype)

    @staticmethod
    def constant(array):
        array = np.asarray(array)
        dtype = "bfloat16" if array.dtype.name == "bfloat16" else array.dtype.name
        return f'relax.const({array_text(array)}, "{dtype}")'

    def cast(self, text, dtype):
        return self.call("astype", text, f'"{DTYPES[dtype]}"')

    def bind(self, name, text):
        self.lines.append(f'{name} = builder.emit({text}, "{name}")')


def in_range(indices, extent):
    require((indices >= 0).all() and (indices < extent).all(), "negative index, or out of range")


def expression(e, step):
    """The text of the step's value."""
    op, args, attrs = step["op"], step["args"], step["attrs"]
    program = e.program
    no_nan(program, step)
    tensors = program.arguments(step)
    dtypes = [program.dtype(arg) for arg in tensors]
    result = step["results"][0]["dtype"] if step["results"] else None
    first = dtypes[0] if dtypes else None
    shape = program.shape(tensors[0]) if tensors else []
    rank = len(shape)
    operand, call = e.operand, e.call
    narrow = any(dtype in ("f16", "bf16") for dtype in dtypes + [result])
    require("epsilon" not in attrs or result != "f64", "norms of f64, which are computed in f32")
    # They are kept in the operands' dtype, and in f32 by ours.
    require(not narrow or not has_sums(op), "sums of narrow floats")
    require(all(program.shape(arg) == [] or 0 not in program.shape(arg) for arg in tensors), "no elements")

    if op in UNARY or op in ("gelu", "softplus"):
        # They are made of several, which overflow in f16 where ours do not.
        require(not narrow, "functions of narrow floats")
    if op in UNARY:
        return call(UNARY[op], operand(tensors[0], result))
    if op == "gelu":
        return call("nn.gelu" if attrs["approximate"] == "none" else "nn.gelu_tanh", operand(tensors[0], result))
    if op == "softplus":
        require(result == "f32", "threshold")
        return call("nn.softplus", operand(tensors[0], result))
    if op in NUMBER:
        return call(NUMBER[op], operand(tensors[0]))
    if op in ROUNDINGS:
        return call(op, operand(tensors[0])) if is_float(first) else operand(tensors[0])
    if op == "copy":
        return operand(tensors[0])
    if op == "clip":
        low, high = clip_bounds(attrs, first)
        require(low is not None and high is not None, "one bound")
        return call("clip", operand(tensors[0]), number_text(low), number_text(high))
    if op == "cast":
        check_cast(program.value(tensors[0]), first, result)
        return e.cast(operand(tensors[0]), result)
    if op in BINARY:
        return call(op, operand(tensors[0], result), operand(tensors[1], result))
    if op in ("floor_divide", "floor_mod", "mod", "trunc_divide"):
        require(is_integer(first) and op != "trunc_divide", "of floats")
        divisor = program.value(tensors[1])
        require((divisor != 0).all() and (first[0] == "u" or (divisor != -1).all()), "division by 0 or -1")
        return call(op, operand(tensors[0]), operand(tensors[1]))
    if op == "power":
        require(is_float(result), "of integers")
        return call("power", operand(tensors[0], result), operand(tensors[1], result))
    if op in COMPARISONS:
        require(dtypes[0] == dtypes[1] or all(map(is_float, dtypes)), "mixed dtypes")
        dtype = first if dtypes[0] == dtypes[1] else "f64" if "f64" in dtypes else "f32"
        return call(op, operand(tensors[0], dtype), operand(tensors[1], dtype))
    if op in LOGICAL:
        return call(op, operand(tensors[0], "bool"), operand(tensors[1], "bool"))
    if op == "logical_not":
        return call(op, operand(tensors[0], "bool"))
    if op in BITWISE:
        return call(op if first != "bool" else op.replace("bitwise", "logical"), operand(tensors[0]),
                    operand(tensors[1]))
    if op == "bitwise_not":
        return call(op if first != "bool" else "logical_not", operand(tensors[0]))
    if op in ("left_shift", "right_shift"):
        count = program.value(tensors[1]).astype("i8")
        require((count >= 0).all() and (count < 8 * numpy_dtype(first).itemsize).all(), "shift by the width")
        return call(op, operand(tensors[0]), operand(tensors[1]))
    if op in ("isnan", "isinf", "isfinite"):
        require(is_float(first), "of integers")
        return call(op, operand(tensors[0]))
    if op == "where":
        return call(op, *[operand(arg) for arg in tensors])
    if op == "matmul":
        texts = []
        for arg, key in zip(tensors, ("transpose_a", "transpose_b")):
            dims = len(program.shape(arg))
            text = operand(arg, result)
            if attrs.get(key) and dims > 1:
                text = call("permute_dims", text, list(range(dims - 2)) + [dims - 1, dims - 2])
            texts.append(text)
        return call("matmul", *texts)
    if op in ("outer", "linear"):
        return call(op, *[operand(arg, result) for arg in tensors])
    if op == "einsum":
        return call("einsum", "[" + ", ".join(operand(arg, result) for arg in tensors) + "]", repr(attrs["equation"]))
    if op.startswith("conv"):
        spatial = int(op[4])
        extra = {"strides": attrs["strides"] or [1] * spatial, "padding": attrs["padding"] or [0] * spatial,
                 "dilation": attrs["dilation"] or [1] * spatial, "groups": attrs["groups"]}
        if op.endswith("_transpose"):
            extra["output_padding"] = attrs["output_padding"] or [0] * spatial
        return call("nn." + op, *[operand(arg, result) for arg in tensors], **extra)
    if op.startswith(("max_pool", "avg_pool")):
        spatial = int(op[8])
        extra = {"pool_size": attrs["kernel_size"], "strides": attrs["strides"] or attrs["kernel_size"],
                 "padding": attrs["padding"] or [0] * spatial, "ceil_mode": attrs["ceil_mode"]}
        if op.startswith("max"):
            extra["dilation"] = attrs["dilation"] or [1] * spatial
        else:
            extra["count_include_pad"] = attrs["count_include_pad"]
        return call("nn." + op, operand(tensors[0]), **extra)
    if op.startswith("adaptive_avg"):
        return call("nn." + op, operand(tensors[0]), attrs["output_size"])
    if op in ("resize2d", "upsample2d"):
        sizes = step["results"][0]["shape"][2:]
        require(all(min(pair) and max(pair) % min(pair) == 0 for pair in zip(sizes, shape[2:])), "fractions")
        require(attrs["method"] == "bilinear" or attrs["coordinates"] == "asymmetric", "nearest at halves")
        return call("image.resize2d", operand(tensors[0]), sizes,
                    method="linear" if attrs["method"] == "bilinear" else "nearest_neighbor",
                    coordinate_transformation_mode=attrs["coordinates"],
                    rounding_method="" if attrs["method"] == "bilinear" else "floor")
    if op in REDUCTIONS:
        require(op != "variance" or not attrs.get("correction"), "correction")
        return call(op, operand(tensors[0]), attrs["axes"] or None, attrs["keepdims"])
    if op in ("argmax", "argmin"):
        if is_integer(first):
            # Known: the index is -1 where no element is beyond the dtype's least (or greatest) one.
            limits, value = np.iinfo(numpy_dtype(first)), program.value(tensors[0])
            best = value.max(attrs["axis"]) if op == "argmax" else value.min(attrs["axis"])
            require((best != (limits.min if op == "argmax" else limits.max)).all(), "the least integer")
        return e.cast(call(op, operand(tensors[0]), attrs["axis"], attrs["keepdims"]), result)
    if op in ("cumsum", "cumprod"):
        require(not attrs["reverse"], "reverse")
        return call(op, operand(tensors[0]), attrs["axis"], exclusive=attrs["exclusive"])
    if op in ("softmax", "log_softmax"):
        return call("nn." + op, operand(tensors[0]), attrs["axis"])
    if op in ("layer_norm", "rms_norm"):
        require(len(set(dtypes)) == 1, "mixed dtypes")
        axes = list(range(-len(program.shape(tensors[1])), 0))
        return call("nn." + op, *[operand(arg) for arg in tensors], axes, epsilon=attrs["epsilon"])
    if op in ("group_norm", "instance_norm", "batch_norm"):
        require(len(set(dtypes)) == 1, "mixed dtypes")
        extra = {"epsilon": attrs["epsilon"]}
        texts = [operand(arg) for arg in tensors]
        if op == "batch_norm":
            return call("nn.batch_norm", *texts, 1, training=False, **extra) + "[0]"
        if op == "group_norm":
            extra["num_groups"] = attrs["groups"]
        return call("nn." + op, *texts, channel_axis=1, axes=list(range(2, rank)), **extra)
    if op in ("reshape", "flatten"):
        return call("reshape", operand(tensors[0]), step["results"][0]["shape"])
    if op == "permute":
        return call("permute_dims", operand(tensors[0]), attrs["axes"])
    if op in ("swap_axes", "move_axis"):
        return call("permute_dims", operand(tensors[0]), order_of_axes(op, attrs, rank))
    if op in ("expand_dims", "squeeze"):
        return call(op, operand(tensors[0]), attrs["axes"])
    if op == "split":
        sizes = attrs["sizes"]
        return call("split", operand(tensors[0]), np.cumsum(sizes)[:-1].tolist() if sizes else attrs["sections"],
                    attrs["axis"])
    if op in ("slice", "strided_slice"):
        begin, end = args[1]["ints"], args[2]["ints"]
        strides = attrs["strides"] or [1] * len(begin)
        require(min(strides, default=1) > 0 and min(begin + end, default=0) >= 0, "negative bounds")
        return call("strided_slice", operand(tensors[0]), attrs["axes"] or list(range(rank)), begin, end, strides)
    if op == "broadcast_to":
        return call(op, operand(tensors[0]), args[1]["ints"])
    if op == "flip":
        text = operand(tensors[0])
        for axis in attrs["axes"] or range(rank):
            text = call("flip", text, axis)
        return text
    if op == "tile":
        return call(op, operand(tensors[0]), attrs["repeats"])
    if op == "repeat":
        return call(op, operand(tensors[0]), attrs["repeats"], attrs["axis"])
    if op in ("concat", "stack"):
        return call(op, "[" + ", ".join(operand(arg) for arg in tensors) + "]", attrs["axis"])
    if op == "pad":
        widths = attrs["widths"]
        require(attrs["mode"] == "constant" or all(max(widths[2 * i:2 * i + 2]) < shape[i] for i in range(rank)),
                "wide padding")
        return call("nn.pad", operand(tensors[0]), widths, pad_mode=PAD_MODES[attrs["mode"]],
                    pad_value=float(attrs["value"]))
    if op in ("take", "gather"):
        require(result == first, "another dtype")
        in_range(program.value(tensors[1]), shape[attrs["axis"]])
        return call("take" if op == "take" else "gather_elements", *[operand(arg) for arg in tensors], attrs["axis"])
    if op == "gather_nd":
        indices = program.value(tensors[1])
        for place in range(indices.shape[-1]):
            in_range(indices[..., place], shape[place])
        return call("gather_nd", operand(tensors[0]), operand(tensors[1], "i64"))
    if op in ("scatter", "scatter_add"):
        indices, axis = program.value(tensors[1]), attrs["axis"] % rank
        in_range(indices, shape[axis])
        require(op == "scatter_add" or (np.diff(np.sort(indices, axis=axis), axis=axis) != 0).all(), "several writes")
        return call("scatter_elements", *[operand(arg) for arg in tensors], attrs["axis"],
                    repr("add" if op == "scatter_add" else "update"))
    if op in ("sort", "argsort"):
        if op == "argsort":
            require_distinct(program.value(tensors[0]), attrs["axis"])
        return call(op, operand(tensors[0]), attrs["axis"], attrs["descending"])
    if op == "topk":
        require(attrs["k"] > 0, "k of 0, which means all")
        require_distinct(program.value(tensors[0]), attrs["axis"])
        return call(op, operand(tensors[0]), attrs["k"], attrs["axis"], "'both'", attrs["largest"], "'int32'")
    if op in ("tril", "triu"):
        return call(op, operand(tensors[0]), attrs["k"])
    if op in ("zeros_like", "ones_like"):
        return call(op, operand(tensors[0]), f'"{DTYPES[result]}"')
    if op == "full":
        return call(op, args[0]["ints"], e.constant(np.array(attrs["value"]).astype(numpy_dtype(result))),
                    f'"{DTYPES[result]}"')
    if op == "arange":
        return e.cast(call(op, args[0]["ints"][0], args[1]["ints"][0], attrs["step"], '"int64"'), result)
    if op == "eye":
        return call(op, args[0]["ints"][0], args[1]["ints"][0], attrs["k"], f'"{DTYPES[result]}"')
    if op == "searchsorted":
        require(rank == 1 and (np.diff(program.value(tensors[0]).astype("f8")) >= 0).all(), "rows")
        return call("bucketize", operand(tensors[1]), operand(tensors[0]), out_int32=True, right=attrs["right"])
    raise Inexpressible("no such operator")


PASSES_TEXT = '''
def passes(*names):
    return tvm.transform.Sequential([getattr(relax.transform, name)() for name in names])


FUSION = ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR")
FORMS = {
    "default": lambda module: module,
    "fused": passes(*FUSION),
    "cpu": lambda module: module,
    "shuffled": passes(%s, *FUSION),
    "compiled": passes(*FUSION),
}


def VERSION():
    return f"tvm {tvm.__version__}"
'''

RUN_TEXT = '''
def run(form):
    target = tvm.target.Target("llvm")
    with target:
        module = FORMS[form](build())
    executable = relax.build(module, target,
                             relax_pipeline=relax.get_default_pipeline(target) if form == "cpu" else "default",
                             exec_mode="compiled" if form == "compiled" else "bytecode")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    results = machine["main"](*[tvm.runtime.tensor(value) for value in inputs().values()])
    return [result.numpy() for result in results]
'''


def source(program):
    e = Emitter(program)
    for step in program.steps:
        if "op" in step:
            if step["results"]:
                e.bind(step["name"], expression(e, step))
        else:
            e.bind(step["name"], f"{step['of']}[{step['field']}]")
    body = ["def build():", "    builder = relax.BlockBuilder()"]
    for tensor in program.inputs:
        body.append(f'    {tensor["name"]} = relax.Var("{tensor["name"]}", '
                    f'relax.TensorType({tensor["shape"]}, "{DTYPES[tensor["dtype"]]}"))')
    names = ", ".join(tensor["name"] for tensor in program.inputs)
    body += [f'    with builder.function("main", [{names}]):', "        with builder.dataflow():"]
    body += ["            " + line for line in e.lines]
    body += [f"            results = builder.emit_output(relax.Tuple([{', '.join(program.outputs)}]))",
             "        builder.emit_func_output(results)", "    return builder.get()", ""]
    rng = np.random.default_rng(zlib.crc32("\n".join(body).encode()))
    order = [PASSES[i] for i in rng.permutation(len(PASSES))[:rng.integers(3, 12)]]
    lines = ["import ml_dtypes  # noqa: F401", "import numpy as np", "import tvm", "from tvm import relax", ""]
    lines += [PASSES_TEXT % ", ".join(f'"{name}"' for name in order), ""]
    lines += inputs_text(program) + ["", ""] + body + [RUN_TEXT]
    return "\n".join(lines)
