"""Modules built in Python, patterns, and passes of the caller's own."""

import numpy as np
import pytest
import tapml as tml


def gated():
    """silu(x @ w) * 2, over a symbolic number of rows."""
    builder = tml.GraphBuilder()
    f = builder.function("main")
    x = f.param("x", ("n", 8), "f32")
    w = f.param("w", "Tensor((8, 4), f32)")
    y = f.op("silu", f.op("matmul", x, w))
    f.returns(f.op("add", y, y))
    return builder.module()


def run(module, *arrays, **options):
    with tml.cpu() as device:
        return tml.upload(tml.compile(module, device, **options))["main"](
            *[tml.tensor(a, device) for a in arrays]).numpy()


def test_a_built_module_is_one_that_was_written():
    module = gated()
    assert module["main"].output[0].shape == ("n", 4)
    again = tml.parse(str(module))
    assert str(again) == str(module)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 8)).astype(np.float32)
    w = rng.normal(size=(8, 4)).astype(np.float32)
    h = x @ w
    np.testing.assert_allclose(run(module, x, w), 2 * h / (1 + np.exp(-h)), rtol=1e-5, atol=1e-6)


def test_shapes_lists_constants_fields_and_calls():
    builder = tml.GraphBuilder()
    f = builder.function("halves")
    x = f.param("x", ("n", 6), "f32")
    parts = f.op("split", x, sections=2, axis=1)
    f.returns([f.item(parts, 0), f.item(parts, 1)])
    main = builder.function("main")
    x = main.param("x", ("n", 6), "f32")
    both = main.call("halves", x)
    joined = main.op("concat", [main.item(both, 1), main.item(both, 0)], axis=1)
    moved = main.op("add", joined, main.constant(np.arange(6, dtype=np.float32)))
    main.returns(main.op("reshape", moved, ("n * 2", 3)))
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    swapped = np.concatenate([x[:, 3:], x[:, :3]], axis=1) + np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(run(builder.module(), x), swapped.reshape(4, 3))


@pytest.mark.parametrize("wrong, parts", [
    (lambda f, x: f.op("matmull", x, x), ["matmull", "matmul"]),
    (lambda f, x: f.op("matmul", x), ["wrong number of operands", "2 (a, b)"]),
    (lambda f, x: f.op("concat", [x, x], axis=5), ["concat", "axis"]),
    (lambda f, x: f.op("softmax", x, axes=1), ["axes"]),
    (lambda f, x: f.op("add", x, 1.5), ["not a value of the graph", "float"]),
    (lambda f, x: f.op("reshape", x, ("m",)), ["symbolic variable m"]),
    (lambda f, x: f.param("y", (1.5,), "f32"), ["not a dimension", "1.5"]),
    (lambda f, x: f.param("y", ("n +",), "f32"), ["parameter y of main"]),
    (lambda f, x: f.param("y", ("n",), "f33"), ["f33"]),
    (lambda f, x: f.item(x, 0), ["no such field"]),
    (lambda f, x: (f.returns(x), f.op("exp", x)), ["complete"]),
])
def test_what_is_wrong_is_named_at_once(wrong, parts):
    f = tml.GraphBuilder().function("main")
    x = f.param("x", ("n", 8), "f32")
    with pytest.raises(tml.UserError) as raised:
        wrong(f, x)
    for part in parts:
        assert part in str(raised.value), str(raised.value)


def test_a_pattern_makes_one_kernel():
    def module(with_pattern):
        builder = tml.GraphBuilder()
        f = builder.function("main")
        x, w = f.param("x", ("n", 8), "f32"), f.param("w", (8, 4), "f32")
        f.returns(f.op("softmax", f.op("matmul", x, w)))
        if with_pattern:
            pattern = tml.PatternBuilder()
            x = pattern.any("x", ("n", "k"), "f32")
            pattern.require("wide", "k >= 8")
            pattern.op("softmax|exp", pattern.op("matmul", x, pattern.any("w")))
            builder.add_pattern("scores", pattern.finish())
        return builder.module()
    assert len(tml.compile(module(False), "cpu").kernels) == 2
    kernels = tml.compile(module(True), "cpu").kernels
    assert len(kernels) == 1 and kernels[0].startswith("matmul_softmax"), kernels


def without_abs(module):
    def visit(rewriter, call):
        if call.op != "cos":
            return None
        inner = rewriter.producer(call.args[0])
        return rewriter.op("cos", inner.args[0]) if inner and inner.op == "abs" else None
    return tml.rewrite(module, visit)


def cos_of_abs_module():
    builder = tml.GraphBuilder()
    f = builder.function("main")
    x = f.param("x", ("n",), "f32")
    f.returns(f.op("exp", f.op("cos", f.op("abs", x))))
    return builder.module()


def test_a_pass_in_python_runs_where_it_is_added():
    added = tml.Pass("cos_of_abs", "simplify_graph", without_abs)
    module = cos_of_abs_module()
    assert "abs" in str(tml.compile(module, "cpu").kernels)
    kernels = tml.compile(module, "cpu", passes=[added], verify=True).kernels
    assert "cos_exp" in str(kernels) and "abs" not in str(kernels), kernels
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    np.testing.assert_allclose(run(module, x, passes=[added]), np.exp(np.cos(x)), rtol=1e-6)


def test_a_rewrite_adds_calls():
    def visit(rewriter, call):
        return rewriter.op("tanh", rewriter.op("add", *call.args * 2)) if call.op == "exp" else None
    text = str(tml.rewrite(cos_of_abs_module(), visit))
    assert "tanh" in text and "add" in text and "exp" not in text.replace("exp: ", ""), text


def test_passes_that_are_wrong():
    def compiled(after, run):
        tml.compile(cos_of_abs_module(), "cpu", passes=[tml.Pass("mine", after, run)])
    with pytest.raises(tml.UserError, match="no pass can be added there"):
        compiled("plan_memory", lambda module: module)
    with pytest.raises(tml.UserError, match="did not return a module"):
        compiled("simplify_graph", lambda module: None)
    with pytest.raises(ZeroDivisionError):
        compiled("simplify_graph", lambda module: 1 // 0)
    assert "simplify_graph" in tml.pass_names()


def test_passes_of_the_compiler_run_by_name():
    text = str(tml.run_passes(cos_of_abs_module(), ["simplify_graph", "legalize"]))
    assert "call_tir(" in text or "prim def" in text
    with pytest.raises(tml.UserError):
        tml.run_passes(cos_of_abs_module(), ["simplify_grape"])
