"""IREE: graphs of the ONNX operators, through its importer, for the processor and for its interpreter."""

import numpy as np

from onnx_graph import Emitter, emit, graph_text, imports
from source import DTYPES, inputs_text, is_float, is_integer, numpy_dtype, require

FORMS = ["O0", "O1", "O2", "O3", "unknown extents", "vmvx"]
# These have not all that the others have, and say so.
MAY_REFUSE = ["unknown extents", "vmvx"]


def version():
    import iree.compiler.version
    import iree.runtime  # noqa: F401
    import onnx  # noqa: F401

    return f"iree {iree.compiler.version.VERSION}"


def labels(term, shape):
    """The letters of an operand with their extents; those of an ellipsis have none."""
    head, _, tail = term.partition("...")
    return [*zip(head, shape), *zip(reversed(tail), reversed(shape))]


def is_known(program, step):
    """Whether docs/studies/external.md lists what is wrong, which every campaign would find again."""
    op, attrs, tensors = step["op"], step["attrs"], program.arguments(step)
    result = step["results"][0]["dtype"] if step["results"] else ""
    first = program.value(tensors[0]).astype("f8") if tensors else None
    if op in ("reshape", "flatten", "tile", "space_to_depth", "depth_to_space") and not first.size:
        return True
    if op in ("scatter", "scatter_add"):
        return not program.value(tensors[1]).size
    if op == "nonzero":
        return not first.shape
    if op == "max_pool3d":
        return is_integer(result)
    if op in ("sign", "zeros_like", "ones_like", "one_hot"):
        return result[0] == "u"
    if op in ("clip", "divide", "trunc_divide", "floor_divide") and result[0] == "u":
        return any((program.value(arg) > np.iinfo(numpy_dtype(result)).max // 2).any() for arg in tensors)
    if op == "gelu":
        return attrs["approximate"] == "tanh"
    if op == "asinh":
        return result == "f16" or (first < -1).any()
    if op == "sinh":
        return result == "f16" or (abs(first) < 1).any()
    if op in ("sin", "cos", "tan"):
        return (abs(first) > 8).any()
    if op == "mod":
        return is_float(result)
    if op == "einsum":
        terms, arrow, kept = attrs["equation"].replace(" ", "").partition("->")
        if not arrow:
            kept = {letter for letter in terms if terms.count(letter) == 1}
        extents = [labels(term, program.shape(arg)) for term, arg in zip(terms.split(","), tensors)]
        return any(extent == 1 and letter not in kept for term in extents for letter, extent in term)
    return op.startswith("avg_pool") and attrs["ceil_mode"] and attrs["count_include_pad"]


RUN_TEXT = '''
FORMS = {level: ["--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", f"--iree-opt-level={level}"]
         for level in ("O0", "O1", "O2", "O3")}
FORMS["unknown extents"] = FORMS["O2"]
FORMS["vmvx"] = ["--iree-hal-target-backends=vmvx", "--iree-opt-level=O2"]


def VERSION():
    return f"iree {iree.compiler.version.VERSION}"


def forget_extents(model):
    for value in [*model.graph.input, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value > 1:
                dim.dim_param = f"n{dim.dim_value}"


def imported(form):
    model = build()
    if form == "unknown extents":
        forget_extents(model)
    onnx.checker.check_model(model, full_check=True)
    graph = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model, data_prop=True))
    with ir.Context() as context:
        module = graph.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(graph.main_graph, module).import_all()
        module.verify()
        return module.get_asm().encode()


def compiled(form):
    errors = []

    def collect(diagnostic):
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            errors.append(diagnostic.message.split(": %")[0].split(chr(10))[0])
        return True

    with api.Session() as session:
        session.set_flags("--iree-input-demote-f64-to-f32=false", *FORMS[form])
        handler = session.context.attach_diagnostic_handler(collect)
        try:
            invocation = session.invocation()
            source = api.Source.wrap_buffer(session, imported(form))
            if not invocation.parse_source(source) or not invocation.execute():
                raise RuntimeError((errors or ["no reason"])[0])
            output = api.Output.open_membuffer()
            invocation.output_vm_bytecode(output)
            return bytes(output.map_memory())
        finally:
            handler.detach()


def run(form):
    config = iree.runtime.Config("local-sync")
    module = iree.runtime.VmModule.copy_buffer(config.vm_instance, compiled(form))
    arguments = list(inputs().values())
    results = iree.runtime.load_vm_module(module, config)["program"](*arguments)
    results = results if isinstance(results, (list, tuple)) else [results]
    # Copies, because the arrays are memory of the module and of the arguments; an integer's sign is lost on the way.
    return [np.array(result.to_host()).view(dtype) for result, dtype in zip(results, RESULTS)]
'''


def source(program):
    e = Emitter(program)
    for step in program.calls():
        emit(e, step)
        require(not is_known(program, step), "known to be wrong")
        require(step["op"] != "log_softmax" or step["results"][0]["dtype"] != "f16", "a sum that is f16")
    known = {tensor["name"]: tensor for tensor in program.inputs + program.steps}
    dtypes = [DTYPES[known[name]["dtype"]] for name in program.outputs]
    lines = ["import iree.compiler.version", "import iree.runtime"] + imports(e) + [
        "from iree.compiler import api, ir", "from iree.compiler.extras import onnx_importer",
        "", f"RESULTS = {dtypes}", "", ""]
    lines += inputs_text(program) + ["", ""] + graph_text(e, False)
    return "\n".join(lines) + "\n\n" + RUN_TEXT
