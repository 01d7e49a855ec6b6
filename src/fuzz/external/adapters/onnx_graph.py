"""Graphs of the ONNX operators as Python source, for the adapters of compilers that take them."""

import json

import numpy as np

from source import (DTYPES, Inexpressible, array_text, check_cast, clip_bounds, is_float, is_integer, no_nan,
                    numpy_dtype, order_of_axes, require, require_distinct)

OPSET = 21

SAME = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid", "softplus": "Softplus",
}
SAME_NUMBER = {"relu": "Relu", "negative": "Neg", "abs": "Abs", "sign": "Sign"}
ROUNDINGS = {"floor": "Floor", "ceil": "Ceil", "round": "Round"}
BINARY = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "maximum": "Max", "minimum": "Min"}
COMPARISONS = {"equal": "Equal", "not_equal": "Equal", "less": "Less", "less_equal": "LessOrEqual",
               "greater": "Greater", "greater_equal": "GreaterOrEqual"}
LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
BITWISE = {"bitwise_and": ("BitwiseAnd", "And"), "bitwise_or": ("BitwiseOr", "Or"),
           "bitwise_xor": ("BitwiseXor", "Xor")}
REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin",
              "logsumexp": "ReduceLogSumExp"}


def onnx_type(dtype):
    return f'onnx.TensorProto.{"DOUBLE" if dtype == "f64" else "FLOAT" if dtype == "f32" else DTYPES[dtype].upper()}'


class Emitter:
    """The nodes of one program."""

    def __init__(self, program):
        self.program = program
        self.nodes, self.constants = [], []
        self.count = 0

    def fresh(self):
        self.count += 1
        return f"t{self.count}_"

    def node(self, op, inputs, outputs=None, **attributes):
        result = self.fresh() if outputs is None else outputs
        names = [result] if isinstance(result, str) else result
        extra = "".join(f", {key}={value if key == 'to' or key == 'dtype' else repr(value)}"
                        for key, value in attributes.items())
        self.nodes.append(f'helper.make_node("{op}", {inputs}, {names}{extra}),'.replace("'", '"'))
        return result

    def constant(self, array):
        name = f"c{len(self.constants) + 1}_"
        self.constants.append(f'numpy_helper.from_array({array_text(np.asarray(array))}, "{name}"),')
        return name

    def ints(self, values):
        return self.constant(np.array(values, "int64"))

    def operand(self, arg, dtype=None):
        """The name of an argument, as another dtype where one is given."""
        found = self.program.dtype(arg)
        require(found != "bf16", "bf16")
        name = arg["name"] if "name" in arg else self.constant(self.program.value(arg))
        return name if dtype in (None, found) else self.node("Cast", [name], to=onnx_type(dtype))

    def cast(self, name, dtype, output=None):
        return self.node("Cast", [name], output, to=onnx_type(dtype))


def whole_padding(attrs, rank):
    padding = attrs.get("padding") or [0] * rank
    return padding * 2 if len(padding) == rank else padding


def in_range(indices, extent):
    require((indices >= -extent).all() and (indices < extent).all(), "index out of range")


def emit(e, step):
    """Adds the nodes of a step, whose result has its name."""
    op, args, attrs, out = step["op"], step["args"], step["attrs"], step["name"]
    program = e.program
    no_nan(program, step)
    tensors = program.arguments(step)
    dtypes = [program.dtype(arg) for arg in tensors]
    result = step["results"][0]["dtype"] if step["results"] else None
    require(result != "bf16" and "bf16" not in dtypes, "bf16")
    first = dtypes[0] if dtypes else None
    shape = program.shape(tensors[0]) if tensors else []
    rank = len(shape)
    node, operand = e.node, e.operand

    # Attributes of floats are f32, and so is stage one of the norms (stash_type).
    require("epsilon" not in attrs or result != "f64", "epsilon of f64")

    def axes_of(name="axes"):
        return [axis % rank for axis in attrs[name]]

    if op in SAME or op in ("rsqrt", "silu", "gelu"):
        x = operand(tensors[0], result)
        if op == "rsqrt":
            node("Reciprocal", [node("Sqrt", [x])], out)
        elif op == "silu":
            node("Mul", [x, node("Sigmoid", [x])], out)
        elif op == "gelu":
            node("Gelu", [x], out, approximate=attrs["approximate"])
        else:
            node(SAME[op], [x], out)
    elif op in SAME_NUMBER:
        node(SAME_NUMBER[op], [operand(tensors[0])], out)
    elif op in ROUNDINGS:
        x = operand(tensors[0])
        node(ROUNDINGS[op] if is_float(first) else "Identity", [x], out)
    elif op == "trunc":
        x = operand(tensors[0])
        if is_float(first):
            node("Mul", [node("Sign", [x]), node("Floor", [node("Abs", [x])])], out)
        else:
            node("Identity", [x], out)
    elif op == "square":
        x = operand(tensors[0])
        node("Mul", [x, x], out)
    elif op == "copy":
        node("Identity", [operand(tensors[0])], out)
    elif op == "clip":
        bounds = ["" if bound is None else e.constant(np.array(bound).astype(numpy_dtype(first)))
                  for bound in clip_bounds(attrs, first)]
        node("Clip", [operand(tensors[0])] + bounds, out)
    elif op == "cast":
        check_cast(program.value(tensors[0]), first, result)
        e.cast(operand(tensors[0]), result, out)
    elif op in BINARY:
        dtype = result
        if op in ("maximum", "minimum"):
            require(all(dtype == result for dtype in dtypes), "mixed dtypes")
        node(BINARY[op], [operand(tensors[0], dtype), operand(tensors[1], dtype)], out)
    elif op in ("trunc_divide", "mod", "floor_mod", "floor_divide"):
        if is_integer(first):
            divisor = program.value(tensors[1])
            require((divisor != 0).all(), "integer division by zero")
            require(first[0] == "u" or (divisor != -1).all(), "integer division by -1")
            if op == "floor_divide":
                require((divisor > 0).all() and (program.value(tensors[0]) >= 0).all(), "rounding down")
            operands = [operand(tensors[0]), operand(tensors[1])]
            if op.endswith("divide"):
                node("Div", operands, out)
            else:
                node("Mod", operands, out, fmod=int(op == "mod"))
        else:
            require(op == "mod", "of floats")
            node("Mod", [operand(tensors[0], result), operand(tensors[1], result)], out, fmod=1)
    elif op == "power":
        require(is_float(result), "of integers")
        node("Pow", [operand(tensors[0], result), operand(tensors[1], result)], out)
    elif op in COMPARISONS:
        dtype = first if dtypes[0] == dtypes[1] else "f64" if "f64" in dtypes else "f32"
        require(dtypes[0] == dtypes[1] or all(map(is_float, dtypes)), "mixed dtypes")
        compared = node(COMPARISONS[op], [operand(arg, dtype) for arg in tensors],
                        None if op == "not_equal" else out)
        if op == "not_equal":
            node("Not", [compared], out)
    elif op in LOGICAL:
        node(LOGICAL[op], [operand(arg, "bool") for arg in tensors], out)
    elif op == "logical_not":
        node("Not", [operand(tensors[0], "bool")], out)
    elif op in BITWISE:
        node(BITWISE[op][first == "bool"], [operand(arg) for arg in tensors], out)
    elif op == "bitwise_not":
        node("Not" if first == "bool" else "BitwiseNot", [operand(tensors[0])], out)
    elif op in ("left_shift", "right_shift"):
        require(first[0] == "u", "of signed integers")
        require((program.value(tensors[1]) < 8 * numpy_dtype(first).itemsize).all(), "shift by the width")
        node("BitShift", [operand(arg) for arg in tensors], out, direction=op.split("_")[0].upper())
    elif op in ("isnan", "isinf", "isfinite"):
        require(is_float(first), "of integers")
        x = operand(tensors[0])
        if op == "isfinite":
            node("Not", [node("Or", [node("IsNaN", [x]), node("IsInf", [x])])], out)
        else:
            node("IsNaN" if op == "isnan" else "IsInf", [x], out)
    elif op == "where":
        node("Where", [operand(arg) for arg in tensors], out)
    elif op == "matmul":
        x, y = (operand(arg, result) for arg in tensors)
        for number, key in enumerate(("transpose_a", "transpose_b")):
            dims = len(program.shape(tensors[number]))
            if attrs.get(key) and dims > 1:
                order = list(range(dims - 2)) + [dims - 1, dims - 2]
                turned = node("Transpose", [y if number else x], perm=order)
                x, y = (x, turned) if number else (turned, y)
        node("MatMul", [x, y], out)
    elif op == "outer":
        x = node("Unsqueeze", [operand(tensors[0], result), e.ints([1])])
        node("Mul", [x, node("Unsqueeze", [operand(tensors[1], result), e.ints([0])])], out)
    elif op == "linear":
        x, weight, bias = (operand(arg, result) for arg in tensors)
        if rank == 2:
            node("Gemm", [x, weight, bias], out, transB=1)
        else:
            node("Add", [node("MatMul", [x, node("Transpose", [weight], perm=[1, 0])]), bias], out)
    elif op == "einsum":
        node("Einsum", [operand(arg, result) for arg in tensors], out, equation=attrs["equation"])
    elif op.startswith("conv"):
        spatial = int(op[4])
        extra = {"strides": attrs["strides"] or [1] * spatial, "dilations": attrs["dilation"] or [1] * spatial,
                 "pads": whole_padding(attrs, spatial), "group": attrs["groups"]}
        if op.endswith("_transpose"):
            extra["output_padding"] = attrs["output_padding"] or [0] * spatial
        node("ConvTranspose" if op.endswith("_transpose") else "Conv", [operand(arg, result) for arg in tensors], out,
             **extra)
    elif op.startswith(("max_pool", "avg_pool")):
        spatial = int(op[8])
        extra = {"kernel_shape": attrs["kernel_size"], "strides": attrs["strides"] or attrs["kernel_size"],
                 "pads": whole_padding(attrs, spatial), "ceil_mode": int(attrs["ceil_mode"])}
        if op.startswith("max"):
            extra["dilations"] = attrs["dilation"] or [1] * spatial
        else:
            extra["count_include_pad"] = int(attrs["count_include_pad"])
        node("MaxPool" if op.startswith("max") else "AveragePool", [operand(tensors[0])], out, **extra)
    elif op.startswith("adaptive"):
        require(all(size == 1 for size in attrs["output_size"]), "several windows")
        node("GlobalMaxPool" if "max" in op else "GlobalAveragePool", [operand(tensors[0])], out)
    elif op in ("resize2d", "upsample2d"):
        sizes = step["results"][0]["shape"]
        ratios = [(size, extent) for size, extent in zip(sizes[2:], shape[2:])]
        require(all(min(pair) > 0 and max(pair) % min(pair) == 0 for pair in ratios), "fractions")
        if attrs["method"] == "nearest":
            require(attrs["coordinates"] == "asymmetric", "nearest at halves")
        node("Resize", [operand(tensors[0]), "", "", e.ints(sizes)], out,
             mode="nearest" if attrs["method"] == "nearest" else "linear",
             coordinate_transformation_mode=attrs["coordinates"], nearest_mode="floor")
    elif op in REDUCTIONS or op in ("any", "all"):
        axes = axes_of() if attrs["axes"] else list(range(rank))
        if op == "prod" and is_integer(first):
            value = abs(program.value(tensors[0]).astype("f8"))
            require(np.prod(np.maximum(value, 1), axis=tuple(axes)).max(initial=0) < 2.0 ** 31, "overflow")
        if op in ("max", "min", "any", "all", "logsumexp", "mean"):
            require(all(shape[axis] for axis in axes), "no elements")
        # Without axes a node reduces over all, which rank 0 has not.
        inputs = [operand(tensors[0], "bool" if op in ("any", "all") else None)]
        if attrs["axes"]:
            inputs.append(e.ints(attrs["axes"]))
        name = {"any": "ReduceMax", "all": "ReduceMin"}.get(op) or REDUCTIONS[op]
        node(name, inputs, out, keepdims=int(attrs["keepdims"]))
    elif op in ("argmax", "argmin"):
        found = node("ArgMax" if op == "argmax" else "ArgMin", [operand(tensors[0])], axis=attrs["axis"],
                     keepdims=int(attrs["keepdims"]))
        e.cast(found, "i32", out)
    elif op == "cumsum":
        node("CumSum", [operand(tensors[0]), e.constant(np.int64(attrs["axis"]))], out,
             exclusive=int(attrs["exclusive"]), reverse=int(attrs["reverse"]))
    elif op in ("softmax", "log_softmax"):
        node("Softmax" if op == "softmax" else "LogSoftmax", [operand(tensors[0])], out, axis=attrs["axis"])
    elif op == "layer_norm":
        require(len(set(dtypes)) == 1, "mixed dtypes")
        node("LayerNormalization", [operand(arg) for arg in tensors], out, axis=-len(program.shape(tensors[1])),
             epsilon=attrs["epsilon"])
    elif op in ("instance_norm", "batch_norm", "group_norm"):
        require(len(set(dtypes)) == 1, "mixed dtypes")
        extra = {"num_groups": attrs["groups"]} if op == "group_norm" else {}
        name = {"instance_norm": "InstanceNormalization", "batch_norm": "BatchNormalization",
                "group_norm": "GroupNormalization"}[op]
        node(name, [operand(arg) for arg in tensors], out, epsilon=attrs["epsilon"], **extra)
    elif op in ("reshape", "flatten"):
        node("Reshape", [operand(tensors[0]), e.ints(step["results"][0]["shape"])], out, allowzero=1)
    elif op == "permute":
        node("Transpose", [operand(tensors[0])], out, perm=axes_of())
    elif op in ("swap_axes", "move_axis"):
        node("Transpose", [operand(tensors[0])], out, perm=order_of_axes(op, attrs, rank))
    elif op in ("expand_dims", "squeeze"):
        node("Unsqueeze" if op == "expand_dims" else "Squeeze", [operand(tensors[0]), e.ints(attrs["axes"])], out)
    elif op == "split":
        axis = attrs["axis"] % rank
        sizes = attrs["sizes"] or [shape[axis] // attrs["sections"]] * attrs["sections"]
        names = [name or e.fresh() for name in program.fields(step)]
        node("Split", [operand(tensors[0]), e.ints(sizes)], names, axis=attrs["axis"])
    elif op in ("slice", "strided_slice"):
        axes = attrs["axes"] or list(range(rank))
        begin, end = args[1]["ints"], args[2]["ints"]
        strides = attrs["strides"] or [1] * len(begin)
        # ONNX moves such a start to the first element, NumPy to before it.
        require(all(stride > 0 or first >= -shape[axis] for first, stride, axis in zip(begin, strides, axes)),
                "start before the first element")
        node("Slice", [operand(tensors[0])] + [e.ints(values) for values in (begin, end, axes, strides)], out)
    elif op == "broadcast_to":
        node("Expand", [operand(tensors[0]), e.ints(args[1]["ints"])], out)
    elif op == "flip":
        axes = attrs["axes"] or list(range(rank))
        count = len(axes)
        values = ([-1] * count, [-(1 << 62)] * count, axes, [-1] * count)
        node("Slice", [operand(tensors[0])] + [e.ints(part) for part in values], out)
    elif op == "roll":
        require(len(attrs["axes"]) == 1 and shape[attrs["axes"][0]], "several axes")
        axis = attrs["axes"][0]
        at = -attrs["shifts"][0] % shape[axis]
        x = operand(tensors[0])
        parts = [node("Slice", [x, e.ints([begin]), e.ints([end]), e.ints([axis])])
                 for begin, end in ((at, shape[axis]), (0, at))]
        node("Concat", parts, out, axis=axis)
    elif op == "tile":
        length = max(rank, len(attrs["repeats"]))
        x = operand(tensors[0])
        if length > rank:
            x = node("Reshape", [x, e.ints([1] * (length - rank) + shape)], allowzero=1)
        node("Tile", [x, e.ints([1] * (length - len(attrs["repeats"])) + attrs["repeats"])], out)
    elif op == "concat":
        node("Concat", [operand(arg) for arg in tensors], out, axis=attrs["axis"])
    elif op == "stack":
        axis = attrs["axis"]
        node("Concat", [node("Unsqueeze", [operand(arg), e.ints([axis])]) for arg in tensors], out, axis=axis)
    elif op == "pad":
        widths = attrs["widths"]
        if attrs["mode"] != "constant":
            require(0 not in shape, "no elements")
            require(all(max(widths[2 * i:2 * i + 2]) < shape[i] for i in range(rank)), "wide padding")
        inputs = [operand(tensors[0]), e.ints(widths[0::2] + widths[1::2])]
        if attrs["mode"] == "constant":
            inputs.append(e.constant(np.array(attrs["value"]).astype(numpy_dtype(first))))
        node("Pad", inputs, out, mode={"circular": "wrap"}.get(attrs["mode"], attrs["mode"]))
    elif op == "depth_to_space":
        node("DepthToSpace", [operand(tensors[0])], out, blocksize=attrs["block"],
             mode="DCR" if attrs["depth_first"] else "CRD")
    elif op == "space_to_depth":
        node("SpaceToDepth", [operand(tensors[0])], out, blocksize=attrs["block"])
    elif op in ("take", "gather"):
        require(result == first, "another dtype")
        in_range(program.value(tensors[1]), shape[attrs["axis"]])
        node("Gather" if op == "take" else "GatherElements", [operand(arg) for arg in tensors], out,
             axis=attrs["axis"])
    elif op == "gather_nd":
        indices = program.value(tensors[1])
        require(indices.shape[-1] > 0, "no indices")
        for place in range(indices.shape[-1]):
            in_range(indices[..., place], shape[place])
        node("GatherND", [operand(tensors[0]), operand(tensors[1], "i64")], out)
    elif op == "one_hot":
        values = np.array([attrs["off_value"], attrs["on_value"]]).astype(numpy_dtype(result))
        node("OneHot", [operand(tensors[0]), e.constant(np.int64(attrs["depth"])), e.constant(values)], out,
             axis=attrs["axis"])
    elif op in ("scatter", "scatter_add"):
        indices = program.value(tensors[1])
        axis = attrs["axis"] % rank
        in_range(indices, shape[axis])
        if op == "scatter":
            ordered = np.sort(indices % max(1, shape[axis]), axis=axis)
            require((np.diff(ordered, axis=axis) != 0).all(), "several writes")
        node("ScatterElements", [operand(arg) for arg in tensors], out, axis=attrs["axis"],
             reduction="add" if op == "scatter_add" else "none")
    elif op in ("sort", "argsort", "topk"):
        axis = attrs["axis"] % rank
        if op != "sort":
            require_distinct(program.value(tensors[0]), axis)
        largest = attrs["largest"] if op == "topk" else attrs["descending"]
        count = attrs["k"] if op == "topk" else shape[axis]
        names = [e.fresh(), e.fresh()]
        fields = program.fields(step) if op == "topk" else [out, None] if op == "sort" else [None, out]
        if fields[0]:
            names[0] = fields[0]
        node("TopK", [operand(tensors[0]), e.ints([count])], names, axis=attrs["axis"], largest=int(largest))
        if fields[1]:
            e.cast(names[1], "i32", fields[1])
    elif op in ("tril", "triu"):
        node("Trilu", [operand(tensors[0]), e.constant(np.int64(attrs["k"]))], out, upper=int(op == "triu"))
    elif op in ("zeros_like", "ones_like"):
        value = np.full([1], op == "ones_like").astype(numpy_dtype(result))
        name = e.fresh()
        e.nodes.append(f'helper.make_node("ConstantOfShape", ["{node("Shape", [operand(tensors[0])])}"], ["{out}"], '
                       f'value=numpy_helper.from_array({array_text(value)}, "{name}")),')
    elif op == "full":
        value = np.array(attrs["value"]).astype(numpy_dtype(result))
        node("Expand", [e.constant(value), e.ints(args[0]["ints"])], out)
    elif op == "arange":
        values = [e.constant(np.int64(value)) for value in (args[0]["ints"][0], args[1]["ints"][0], attrs["step"])]
        e.cast(node("Range", values), result, out)
    elif op == "nonzero":
        found = node("NonZero", [operand(tensors[0])])
        e.cast(node("Transpose", [found], perm=[1, 0]), "i32", out)
    else:
        raise Inexpressible("no such operator")


def info_text(name, dtype, shape, named):
    if named:
        shape = [f"n{extent}" if extent > 1 else extent for extent in shape]
    return f'helper.make_tensor_value_info("{name}", {onnx_type(dtype)}, {json.dumps(shape)}),'


def imports(e):
    """The imports of what graph_text needs."""
    lines = ["import ml_dtypes  # noqa: F401"] if "ml_dtypes" in "".join(e.constants) else []
    return lines + ["import numpy as np", "import onnx", "from onnx import helper, numpy_helper  # noqa: F401"]


def graph_text(e, named):
    """A function build() that makes the model; `named`: with names in place of extents, equal ones for equal ones."""
    program = e.program
    known = {tensor["name"]: tensor for tensor in program.inputs + program.steps}
    lines = ["def build():", "    nodes = ["] + ["        " + text for text in e.nodes] + ["    ]"]
    lines += ["    constants = ["] + ["        " + text for text in e.constants] + ["    ]"]
    lines += ["    inputs = ["]
    lines += ["        " + info_text(part["name"], part["dtype"], part["shape"], named) for part in program.inputs]
    lines += ["    ]", "    outputs = ["]
    lines += ["        " + info_text(name, known[name]["dtype"], known[name]["shape"], named)
              for name in program.outputs]
    return lines + [
        "    ]",
        '    graph = helper.make_graph(nodes, "program", inputs, outputs, constants)',
        f'    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", {OPSET})], ir_version=10)']
