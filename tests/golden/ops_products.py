"""Golden cases of products of tensors."""

import torch

from make_ops import Case, DType


def numbers(dtype, *shape):
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -99, 99, shape).to(dtype)


def exact(x):
    return x.double() if x.is_floating_point() else x


def cases():
    shapes = (((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((4, 5), (5, 3)), ((2, 4, 5), (5, 3)),
              ((2, 4, 5), (2, 5, 3)), ((3, 1, 4, 5), (2, 5, 3)), ((0, 5), (5, 3)),
              ((4, 0), (0, 3)), ((5,), (2, 5, 3)))
    for a_shape, b_shape in shapes:
        for dtype in (torch.float32, torch.float64, torch.int32):
            a, b = numbers(dtype, *a_shape), numbers(dtype, *b_shape)
            result = [str(dtype).replace("torch.float", "f").replace("torch.int", "i")]
            yield Case("matmul", [a, b], [torch.matmul(exact(a), exact(b))], result=result)
    for dtype in (torch.float16, torch.bfloat16):
        a, b = numbers(dtype, 3, 7), numbers(dtype, 7, 4)
        yield Case("matmul", [a, b], [a.double() @ b.double()], {"out_dtype": DType("f32")}, ["f32"])
    a, b = numbers(torch.int8, 3, 7), numbers(torch.int8, 7, 4)
    yield Case("matmul", [a, b], [(a.int() @ b.int()).to(torch.int8)])
    yield Case("matmul", [a, b], [a.int() @ b.int()], {"out_dtype": DType("i32")})
    a, b = numbers(torch.float32, 2, 7, 3), numbers(torch.float32, 4, 7)
    yield Case("matmul", [a, b], [a.double().transpose(1, 2) @ b.double().T],
               {"transpose_a": True, "transpose_b": True}, ["f32"])

    a, b = numbers(torch.float32, 4), numbers(torch.float32, 3)
    yield Case("outer", [a, b], [torch.outer(a.double(), b.double())], result=["f32"])
    a, b = numbers(torch.int64, 4), numbers(torch.int64, 3)
    yield Case("outer", [a, b], [torch.outer(a, b)])
    x, w, bias = numbers(torch.float32, 2, 3, 5), numbers(torch.float32, 4, 5), numbers(torch.float32, 4)
    yield Case("linear", [x, w, bias],
               [torch.nn.functional.linear(x.double(), w.double(), bias.double())], result=["f32"])

    equations = (("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ba,ac", (3, 4), (4, 5)),
                 ("cb,ba", (3, 4), (4, 5)), ("ii,i->i", (4, 4), (4,)), ("iij,jk->ik", (3, 3, 4), (4, 2)),
                 ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("...ij,jk->...ik", (2, 3, 4), (4, 5)),
                 ("...i,...i->i...", (3, 1, 4), (2, 4)), ("i,j->ji", (3,), (4,)), ("ij,ij->", (3, 4), (3, 4)),
                 ("i,->i", (3,), ()), ("ij,kl->il", (3, 4), (5, 2)), ("Ba,aC", (3, 4), (4, 2)))
    for equation, a_shape, b_shape in equations:
        a, b = numbers(torch.float32, *a_shape), numbers(torch.float32, *b_shape)
        yield Case("einsum", [a, b], [torch.einsum(equation, a.double(), b.double())],
                   {"equation": equation}, ["f32"])

    for x_shape, i_shape in (((3, 5), (3,)), ((2, 3, 1, 5), (2, 3, 2)), ((5,), (4,)), ((2, 3, 5), ())):
        x, w = numbers(torch.float32, *x_shape), numbers(torch.float32, 4, 6, 5)
        indices = torch.randint(-4, 4, i_shape, dtype=torch.int32)
        chosen = w.double()[indices.long()]
        y = (chosen @ x.double()[..., None])[..., 0]
        yield Case("gather_matmul", [x, w, indices], [y], result=["f32"])
        yield Case("gather_matmul", [x, w.transpose(1, 2).contiguous(), indices], [y], {"transposed": True}, ["f32"])
    x, w = numbers(torch.bfloat16, 2, 3), numbers(torch.bfloat16, 2, 4, 3)
    y = torch.stack([x[0].double() @ w[1].double().T, torch.zeros(4, dtype=torch.float64)])
    yield Case("gather_matmul", [x, w, torch.tensor([1, 2])], [y], result=["bf16"])
    x, w, bias = (numbers(torch.bfloat16, *shape) for shape in ((7,), (3, 7), (3,)))
    yield Case("linear", [x, w, bias],
               [torch.nn.functional.linear(x.double(), w.double(), bias.double())], result=["bf16"])
