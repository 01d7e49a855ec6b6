"""TVM Relax: argmax is -1 where no element is greater than the least one of the integer dtype.

Root cause: the reduction begins with index -1 and the dtype's least value, and takes an element that is greater, or
equal with a lower index, which none is below -1. Fix: begin with an index that loses to every other.
"""

import numpy as np
import tvm
from tvm import relax

builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType([3], "uint8"))
with builder.function("main", [x]):
    with builder.dataflow():
        result = builder.emit_output(relax.op.argmax(x, 0, False))
    builder.emit_func_output(result)
machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
print(tvm.__version__, "expected 0, found", machine["main"](tvm.runtime.tensor(np.zeros(3, "uint8"))).numpy())
