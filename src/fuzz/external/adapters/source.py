"""Programs of `tapml fuzz external` as Python source: what all adapters share."""

import json

import numpy as np

try:
    import ml_dtypes
except ImportError:  # a compiler that has no bf16 does without
    ml_dtypes = None

DTYPES = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}
NAMES = {value: key for key, value in DTYPES.items()}
# Arrays of at most this many elements are written element by element.
MOST_WRITTEN = 24


class Inexpressible(Exception):
    """The compiler has nothing that means the same as a step."""


def require(condition, what):
    if not condition:
        raise Inexpressible(what)


def numpy_dtype(name):
    require(name != "bf16" or ml_dtypes, "bf16 without the package ml_dtypes")
    return np.dtype(ml_dtypes.bfloat16) if name == "bf16" else np.dtype(DTYPES[name])


def is_float(dtype):
    return dtype in ("f16", "bf16", "f32", "f64")


def is_integer(dtype):
    return dtype[0] in "iu"


def array_of(tensor):
    return np.frombuffer(bytes.fromhex(tensor["hex"]), numpy_dtype(tensor["dtype"])).reshape(tensor["shape"])


def number_text(value):
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    value = float(value)
    if value != value:
        return "np.nan"
    return repr(value) if abs(value) != np.inf else "np.inf" if value > 0 else "-np.inf"


def dtype_text(dtype):
    return "ml_dtypes.bfloat16" if dtype == "bf16" else f'"{DTYPES[dtype]}"'


SUMS = ("sum", "mean", "prod", "variance", "cumsum", "cumprod", "softmax", "log_softmax", "logsumexp", "layer_norm",
        "rms_norm", "group_norm", "instance_norm", "batch_norm", "matmul", "linear", "einsum", "outer", "scatter_add",
        "resize2d", "upsample2d")


def has_sums(op):
    return op in SUMS or op.startswith(("conv", "avg_pool", "adaptive_avg"))


def no_nan(program, step):
    """Requires operands without NaN, for which operators define different results, and finite terms of sums."""
    for arg in program.arguments(step):
        if is_float(program.dtype(arg)):
            value = program.value(arg).astype("f8")
            require(not np.isnan(value).any(), "NaN operand")
            require(not has_sums(step["op"]) or np.isfinite(value).all(), "infinite operand")


def order_of_axes(op, attrs, rank):
    """The permutation of swap_axes and of move_axis."""
    order = list(range(rank))
    if op == "swap_axes":
        one, two = attrs["axis1"] % rank, attrs["axis2"] % rank
        order[one], order[two] = order[two], order[one]
    else:
        order.insert(attrs["destination"] % rank, order.pop(attrs["source"] % rank))
    return order


def check_cast(value, first, result):
    """Requires values that the dtype holds."""
    if result == "bool" or first == "bool" or not value.size:
        return
    wide = value.astype("f8")
    if is_integer(result):
        limits = np.iinfo(numpy_dtype(result))
        require(np.isfinite(wide).all(), "cast out of range")
        low, high = int(np.trunc(wide.min())), int(np.trunc(wide.max()))
        require(limits.min <= low and high <= limits.max, "cast out of range")
    elif result == "f16":
        require((abs(wide) < 65504).all(), "cast out of range")


def require_distinct(value, axis):
    """Requires an order that is the same for every sort."""
    ordered = np.sort(value.astype("f8"), axis=axis)
    count = ordered.shape[axis]
    require((ordered.take(range(1, count), axis) != ordered.take(range(count - 1), axis)).all(), "equal elements")


def clip_bounds(attrs, dtype):
    """The bounds of a clip, None for one that is absent."""
    bounds = [attrs.get("min"), attrs.get("max")]
    require(None in bounds or bounds[0] <= bounds[1], "min above max")
    if is_integer(dtype):
        limits = np.iinfo(numpy_dtype(dtype))
        require(all(bound is None or limits.min <= bound <= limits.max for bound in bounds), "bound out of range")
    return bounds


def array_text(array):
    """An expression for the array, exact."""
    dtype = dtype_text(NAMES[array.dtype.name])
    negative_zeros = (np.signbit(array.astype("f8")) & (array == 0)).any()
    if array.size and (array == array.flat[0]).all() and not negative_zeros:
        return f"np.full({list(array.shape)}, {number_text(array.flat[0])}, {dtype})"
    if array.size <= MOST_WRITTEN:
        elements = ", ".join(number_text(value) for value in array.flat)
        return f"np.array([{elements}], {dtype}).reshape({list(array.shape)})"
    return f'np.frombuffer(bytes.fromhex("{array.tobytes().hex()}"), {dtype}).reshape({list(array.shape)})'


class Program:
    """The document of straight_line.h."""

    def __init__(self, document):
        self.document = document
        read = {arg["name"] for step in document["steps"] if "op" in step
                for arg in self.arguments(step) if "name" in arg}
        self.inputs = [tensor for tensor in document["inputs"] if tensor["name"] in read]
        self.steps = document["steps"]
        self.outputs = document["outputs"]
        self.tensors = {part["name"]: part for part in self.inputs + self.steps if "hex" in part}

    def calls(self):
        return [step for step in self.steps if "op" in step]

    def fields(self, step):
        """The names of the results of a step with several, by number; None where nothing reads one."""
        names = {other["field"]: other["name"] for other in self.steps if other.get("of") == step["name"]}
        return [names.get(i) for i in range(len(step["results"]))]

    def tensor(self, arg):
        return arg["tensor"] if "tensor" in arg else self.tensors[arg["name"]]

    def dtype(self, arg):
        return self.tensor(arg)["dtype"]

    def shape(self, arg):
        return self.tensor(arg)["shape"]

    def value(self, arg):
        return array_of(self.tensor(arg))

    @staticmethod
    def arguments(step):
        """The tensor arguments, those of tuples too."""
        found = []
        for arg in step["args"]:
            found += arg["fields"] if "fields" in arg else [] if "ints" in arg else [arg]
        return found

    def alone(self, step):
        """A program of this step, with its operands as inputs."""
        names = dict.fromkeys(arg["name"] for arg in self.arguments(step) if "name" in arg)
        inputs = [{key: self.tensors[name][key] for key in ("name", "dtype", "shape", "hex")} for name in names]
        if len(step["results"]) == 1 and "hex" in step:
            return Program({"inputs": inputs, "steps": [step], "outputs": [step["name"]]})
        fields = [other for other in self.steps if other.get("of") == step["name"] and "hex" in other]
        require(fields, "no results")
        return Program({"inputs": inputs, "steps": [step] + fields, "outputs": [field["name"] for field in fields]})

    @staticmethod
    def tensor_json(output):
        array = np.asarray(output)
        return {"dtype": NAMES[array.dtype.name], "shape": list(array.shape), "hex": array.tobytes().hex()}


def step_key(program, step):
    """What decides whether a compiler takes a step, but for its values and extents."""
    operands = [(program.dtype(arg), len(program.shape(arg)), 0 in program.shape(arg), "tensor" in arg)
                for arg in program.arguments(step)]
    return json.dumps([step["op"], operands, step["attrs"], step["results"][0]["dtype"] if step["results"] else ""])


def inputs_text(program):
    lines = ["def inputs():", "    return {"]
    lines += [f'        "{tensor["name"]}": {array_text(array_of(tensor))},' for tensor in program.inputs]
    return lines + ["    }"]


CHECK = '''
def differences(outputs):
    for number, (output, (expected, bound)) in enumerate(zip(outputs, EXPECTED)):
        output = np.asarray(output).astype("f8")
        expected = expected.astype("f8")
        if output.shape != expected.shape:
            yield f"result {number} has shape {output.shape}, expected {expected.shape}"
            continue
        wrong = ~((output == expected) | (np.isnan(output) & np.isnan(expected)) | (abs(output - expected) <= bound))
        for index in np.argwhere(wrong)[:3]:
            at = tuple(int(i) for i in index)
            yield f"result {number} at {at} is {output[at]}, expected {expected[at]}"


if __name__ == "__main__":
    print(VERSION())
    for form in FORMS:
        print(f"{form}: ", end="", flush=True)
        try:
            print("; ".join(differences(run(form))) or "as expected")
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
'''


def script_text(adapter, program, expected, problem):
    """The program as a file that needs the compiler alone."""
    lines = [f'"""{problem["kind"]} in form {problem["stage"]}: {problem["message"]}'.replace("\\", "/"), '"""', ""]
    lines += [adapter.source(program), "", "# Results in f64, and the errors that correct code may have.",
              "EXPECTED = ["]
    for tensor in expected:
        bounds = np.array([np.inf if bound is None else bound for bound in tensor["bounds"]], "f8")
        lines.append(f"    ({array_text(array_of(tensor))},")
        lines.append(f"     {array_text(bounds.reshape(tensor['shape']))}),")
    return "\n".join(lines) + "\n]\n\n" + CHECK
