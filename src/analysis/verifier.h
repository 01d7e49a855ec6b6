// The structural verifier: invariants of every module between passes, in every phase. (build/
// checks that annotations agree with deduction.)
//
// Graph level:
//   R1   A variable is bound once, before its uses; one bound in a branch stays in it. A lambda may
//        use its own variable.
//   R2   A symbolic variable is bound by a parameter or a match_cast before it is used: as a whole
//        dimension or prim value, or as the only unknown of a linear one (n + 1).
//   R3   A dataflow variable is bound in a dataflow block and used only there.
//   R4   A-normal form: operands, conditions and results are variables, constants, shapes, prim
//        values, names or tuples of these; bodies and branches are sequences; nothing is missing.
//   R5   A global name is a function of the module.
//   R6   call_tir and similar calls name a kernel (a spec and its implementing tensor program, or a
//        tensor program alone); arguments and outputs agree with both in count, dtype and rank, and
//        no dimension is provably different.
//   R7   call_tir_inplace consumes a variable that nothing uses later; inout_indices has an entry
//        for each output, each -1 or the number of an argument, none twice.
//   R8   A dataflow block has no control flow, no match_cast on functions, and no impure call.
//   R9   Variables, outputs and functions are annotated; what a function returns fits its result
//        annotation in kind, rank and dtype.
//   R10  Dimensions are i64, scalars have the dtype of their annotation, and neither loads anything
//        or divides by a constant zero. No dimension of a tensor is a negative constant.
//   R11  A pure function (`def`) makes no impure call: of a packed function, an `impure def`, or a
//        function value whose Callable is impure. A lambda is checked separately.
//   R12  What is written or viewed (assign, view_slice and the like) is a variable, not a constant.
//   R13  memory.alloc_storage and memory.alloc_tensor have the operands that lowering reads.
//   R14  A planned tensor is inside its storage. What a kernel writes does not overlap data needed
//        later, through any alias, or its other outputs; a workspace with a known size does not
//        overlap the kernel's inputs either. (Tried with values of the symbolic variables.)
//
// Tensor programs:
//   T1   A buffer is bound once (parameter or alloc) and used only where it lives.
//   T2   An access has one index for each dimension; indices and dimensions are integers.
//   T3   A store's value has the buffer's dtype.
//   T4   A scalar variable is bound once (scalar parameter, loop, block iterator, let) and used
//        only where it is visible.
//   T5   A block's bindings use what is visible around it; its body uses only its own iterators,
//        variables bound inside it, and the scalar parameters.
//   T6   `in` and `prepared` parameters are never stored to.
//   T7   `out` parameters are stored to.
//   T8   Parallel and work-group loops are not inside other parallel or work-group loops; unrolled
//        and thread loops have constant extents, local buffers constant shapes; the shape of a
//        shared buffer may use scalar parameters. Unrolled loops have at most 256 iterations,
//        nested ones 4,096 together.
//   T9   Operands have the number and dtypes that their operation asks for; constants fit theirs.
//   T10  Statements are complete: extents, bindings, values and bodies are present.
//   T11  A subgroup operation (tir/subgroup.h) is the whole value of a store. It and a matrix
//        operation are below a loop over threads, whose extent is a multiple of their width, a
//        power of two of at least 2.
//   T12  A barrier is below a loop over threads.
//   T13  Requirements name parameters: in_place an input and an output, prepared inputs. Bytes of a
//        workspace are an integer over the scalar parameters, those of prepared data at least 0.
//   T14  Only shared and local buffers have strides: one integer for each dimension, constant or,
//        in shared buffers, over the scalar parameters. Each is proved to be at least the next
//        stride times the next dimension, the last one at least 1, so that elements do not share
//        memory.
//   T15  A fragment has two constant positive dimensions, is allocated below a loop over threads
//        and is used by matrix operations alone.
//   T16  Matrix operations (tir/matrix.h) have one width in a program, and operands whose scopes,
//        dtypes and extents fit together. A fragment has one role in all products: left operand,
//        right operand or sum.
//   T17  copy_async (tir/async_copy.h) copies a box of a global buffer to one of a shared buffer of
//        the same dtype; their extents are positive constants and equal, apart from extents of 1.
//        It, commit_copies and wait_copies (at least 0 groups) are below a loop over threads.
//   T18  In program order, a shared buffer to which only copy_async has written so far is not read
//        before a wait covers the first copy and a barrier follows, and its memory does not end
//        before such a wait. Statements count as executed; loops count as two iterations or as
//        their constant extent. A read in a branch is not compared with copies outside it. A later
//        copy to the same buffer is not followed: the interpreter finds its missing waits.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "text/source_map.h"

namespace tapml::analysis {

struct Violation {
  std::string invariant;  // "R5"
  std::string function;
  std::string place;  // the binding, or the statement
  std::string message;
  const void* node = nullptr;  // the innermost statement of a tensor program; null at graph level

  // "R5 in main, binding lv0: no function is called @f".
  std::string to_string() const;
};

// Returns all violations, in the order of functions and bindings.
std::vector<Violation> find_violations(const Module& module);

// Throws an InternalError that names invariant, function, binding and pass of the first violation
// and counts the rest. `after_pass` is the pass that made the module.
void verify(const Module& module, const std::string& after_pass = "");

// The same for a module from a user: throws UserError. `source` names the file; with the locations
// of the parsed text the error shows the line.
void verify_input(const Module& module, const std::string& source,
                  const text::SourceMap* places = nullptr);

}  // namespace tapml::analysis
