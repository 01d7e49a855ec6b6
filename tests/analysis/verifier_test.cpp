#include "analysis/verifier.h"

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "tir/visit.h"

namespace tapml::analysis {
namespace {

using relax::Function;

// Names may be used after their scope: the verifier must find that, not the parser.
Module module_of(const std::string& text) { return text::parse(text, "test", {.scoped = false}); }

// The only violation of a module that breaks exactly one invariant.
void expect_violation(const Module& module, const std::string& expected) {
  std::vector<Violation> found = find_violations(module);
  std::string all;
  for (const Violation& v : found) all += v.to_string() + "\n";
  ASSERT_EQ(found.size(), 1u) << all;
  EXPECT_EQ(found[0].to_string(), expected);
}

struct BrokenModule {
  const char* name;
  const char* violation;
  const char* text;
};

class Verifier : public testing::TestWithParam<BrokenModule> {};

TEST_P(Verifier, ReportsExactlyTheBrokenInvariant) {
  expect_violation(module_of(GetParam().text), GetParam().violation);
}

// A kernel with one input and one output, called as @relu.
#define RELU                                                                         \
  "def relu(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32)"                          \
  " {kernel: true, implementation: \"relu_impl\"} {"                                 \
  " y: Tensor((n, 4), f32) = relu(x) return y }\n"                                   \
  "prim def relu_impl(x: Buffer((n, 4), f32), out y: Buffer((n, 4), f32), n: i64) {" \
  " for i in serial(n) { for j in serial(4) { y[i, j] = max(x[i, j], f32(0)) } } }\n"

// A kernel that updates its first argument.
#define BUMP                                                                \
  "def bump(x: Tensor((4,), f32), s: Tensor((), f32)) -> Tensor((4,), f32)" \
  " {kernel: true, implementation: \"bump_impl\", inout_indices: [0]} {"    \
  " y: Tensor((4,), f32) = add(x, s) return y }\n"                          \
  "prim def bump_impl(inout x: Buffer((4,), f32), s: Buffer((), f32)) {"    \
  " for i in serial(4) { x[i] = x[i] + s[] } }\n"

const BrokenModule kGraphCases[] = {
    {"R1BranchVariableOutside",
     "R1 in f, result: the variable 't' is used outside the branch that binds it",
     R"(def f(x: Object) -> Object {
          y: Object = if (x) { t: Object = g(x) yield t } else { yield x }
          return t })"},
    {"R2OnlyInsideAnExpression",
     "R2 in f, parameter x: the symbolic variable 'n' is bound by no parameter or match_cast "
     "before",
     "def f(x: Tensor((n*n,), f32)) -> Object { return x }"},
    {"R11PackedCall", "R11 in f, binding y: a pure function calls extern \"g\", which is impure",
     "def f(x: Object) -> Object { y: Object = extern \"g\"(x) return y }"},
    {"R11InsideALambda", "R11 in f, binding y: a pure function calls extern \"g\", which is impure",
     R"(impure def f(x: Object) -> Object {
          h: Callable((Object,), Object) = def (a: Object) -> Object {
            y: Object = extern "g"(a)
            return y
          }
          return h })"},
    {"R11FunctionValue", "R11 in f, binding y: a pure function calls h, which is impure",
     R"(def f(h: Callable((Object,), Object, impure), x: Object) -> Object {
          y: Object = h(x)
          return y })"},
    {"R12Constant", "R12 in f, binding y: assign is given something other than a variable",
     "impure def f(x: Tensor((1,), f32)) -> Object {"
     " y: Tuple() = assign(const(f32, (1,), [1.0]), x) return y }"},
    {"R13Storage",
     "R13 in f, binding s: memory.alloc_storage takes its size in bytes, as a shape of one "
     "dimension",
     "def f(x: Object) -> Object { s: Object = memory.alloc_storage(shape(4, 4)) return s }"},
    {"R13Tensor",
     "R13 in f, binding y: memory.alloc_tensor takes a storage, a shape and optionally an offset "
     "as an "
     "i64 prim value, and has an attribute dtype",
     R"(def f(x: Object) -> Object {
          s: Object = memory.alloc_storage(shape(32))
          y: Tensor((4,), f32) = memory.alloc_tensor(s, shape(4), shape(16)) {dtype: f32}
          return y })"},
    {"R14Outside", "R14 in f, binding y: the tensor is not inside its storage 's'",
     R"(def f(x: Tensor((n,), f32)) -> Tensor((n + 1,), f32) {
          s: Object = memory.alloc_storage(shape(n*4))
          y: Tensor((n + 1,), f32) = memory.alloc_tensor(s, shape(n + 1)) {dtype: f32}
          return y })"},
    {"R14NeededLater",
     "R14 in f, binding c: 'b' overlaps 'a' in the storage 's', which is needed later",
     R"(def f(x: Tensor((n,), f32)) -> Object {
          s: Object = memory.alloc_storage(shape(n*8))
          a: Tensor((n,), f32) = memory.alloc_tensor(s, shape(n)) {dtype: f32}
          d: Object = call_tir_dps(@k, (x,), (a,))
          v: Tensor((1, n), f32) = reshape(a, shape(1, n))
          b: Tensor((n,), f32) = memory.alloc_tensor(s, shape(n), prim(n*4 - 4)) {dtype: f32}
          c: Object = call_tir_dps(@k, (x,), (b,))
          return v }
        prim def k(a: Buffer((n,), f32), out b: Buffer((n,), f32), n: i64) {
          for i in serial(n) { b[i] = a[i] } })"},
    {"R14WrittenTogether",
     "R14 in f, binding c: 'b' overlaps 'a' in the storage 's', which the call writes",
     R"(def f(x: Tensor((n,), f32)) -> Object {
          s: Object = memory.alloc_storage(shape(n*4))
          a: Tensor((n,), f32) = memory.alloc_tensor(s, shape(n)) {dtype: f32}
          b: Tensor((n,), f32) = memory.alloc_tensor(s, shape(n)) {dtype: f32}
          c: Object = call_tir_dps(@two, (x,), (a, b))
          return (a, b) }
        prim def two(x: Buffer((n,), f32), out a: Buffer((n,), f32), out b: Buffer((n,), f32), n: i64) {
          for i in serial(n) { a[i] = x[i] b[i] = x[i] } })"},
    {"R14Workspace",
     "R14 in f, binding c: 'w' overlaps 'a' in the storage 's', which the call reads",
     R"(def f(x: Tensor((n,), f32)) -> Object {
          s: Object = memory.alloc_storage(shape(n*4))
          t: Object = memory.alloc_storage(shape(n*4))
          a: Tensor((n,), f32) = memory.alloc_tensor(s, shape(n)) {dtype: f32}
          d: Object = call_tir_dps(@k, (x,), (a,))
          b: Tensor((n,), f32) = memory.alloc_tensor(t, shape(n)) {dtype: f32}
          w: Tensor((n*4,), u8) = memory.alloc_tensor(s, shape(n*4)) {dtype: u8}
          c: Object = call_tir_dps(@k, (a,), (b,), shape(), w)
          return b }
        prim def k(a: Buffer((n,), f32), out b: Buffer((n,), f32), n: i64) {
          for i in serial(n) { b[i] = a[i] } })"},
    {"R7ThroughAView", "R7 in f, binding z: the variable 'v' is used after 'y' consumed it",
     R"(impure def f(x: Tensor((4,), f32)) -> Object {
          v: Tensor((2,), f32) = view_slice(x, shape(0), shape(2))
          y: Tensor((4,), f32) = call_tir_inplace(@k, (x,), Tensor((4,), f32)) {inout_indices: [0]}
          z: Tensor((2,), f32) = exp(v)
          return z }
        prim def k(inout a: Buffer((4,), f32)) { a[0] = f32(1.0) })"},
    {"R2OfABranch",
     "R2 in f, binding z: the symbolic variable 'm' is bound by no parameter or match_cast before",
     R"(def f(x: Object) -> Object {
          y: Object = if (x) { t: Object = match_cast(x, Tensor((m,), f32)) yield t }
                      else { yield x }
          z: Object = g(shape(m))
          return z })"},
    {"R3DataflowVariableOutside",
     "R3 in f, result: the variable 'a' is used outside its dataflow block",
     "def f(x: Object) -> Object { dataflow { a: Object = g(x) } return a }"},
    {"R4NestedCall", "R4 in f, binding y: an argument is not an atom: h(x)",
     "def f(x: Object) -> Object { y: Object = g(h(x)) return y }"},
    {"R4CallAsResult", "R4 in f, result: the result is not an atom: g(x)",
     "def f(x: Object) -> Object { return g(x) }"},
    {"R4CallAsCallee", "R4 in f, binding y: the callee is not a name: g(x)",
     "def f(x: Object) -> Object { y: Object = (g(x))(x) return y }"},
    {"R4BranchWithoutSequence", "R4 in f, binding y: a branch is not a sequence",
     "def f(x: Object) -> Object { y: Object = if (x) { yield x } else x return y }"},
    {"R4BoundSequence",
     "R4 in f, binding y: a sequence is bound to a variable; it is allowed only as a body or "
     "branch",
     "def f(x: Object) -> Object { y: Object = { yield x } return y }"},
    {"R5UnknownFunction", "R5 in f, binding y: no function is called @g",
     "def f(x: Object) -> Object { y: Object = @g(x) return y }"},
    {"R5UnknownKernel", "R5 in f, binding y: no function is called @g",
     "def f(x: Object) -> Object { y: Object = call_tir(@g, (x,), Object) return y }"},
    {"R6NoKernel",
     "R6 in f, binding y: call_tir names @g, which is not a kernel (attribute \"kernel\")",
     "def g(x: Object) -> Object { return x }\n"
     "def f(x: Object) -> Object { y: Object = call_tir(@g, (x,), Object) return y }"},
    {"R6NoImplementation",
     "R6 in f, binding y: call_tir names @g, whose implementation @h is not a tensor program",
     "def g(x: Object) -> Object {kernel: true, implementation: \"h\"} { return x }\n"
     "def f(x: Object) -> Object { y: Object = call_tir(@g, (x,), Object) return y }"},
    {"R6NotATuple",
     "R6 in f, binding y: call_tir takes a function, a tuple of tensors and optionally a shape, "
     "then optionally the bytes of its workspace",
     RELU "def f(x: Object) -> Object { y: Object = call_tir(@relu, x, Object) return y }"},
    {"R6Rank",
     "R6 in f, binding y: call_tir passes 'x' of rank 1 as the implementation's 'x' of rank 2",
     "prim def k(x: Buffer((n, 4), f32), out y: Buffer((n, 4), f32), n: i64) { y[0, 0] = x[0, 0] "
     "}\n"
     "def f(x: Tensor((4,), f32)) -> Object {"
     " y: Tensor((1, 4), f32) = call_tir(@k, (x,), Tensor((1, 4), f32)) return y }"},
    {"R6DType",
     "R6 in f, binding y: call_tir passes an output of dtype bf16 as the implementation's 'y' of "
     "dtype f32",
     "prim def k(x: Buffer((4,), f32), out y: Buffer((4,), f32)) { y[0] = x[0] }\n"
     "def f(x: Tensor((4,), f32)) -> Object {"
     " y: Object = call_tir(@k, (x,), Tensor((4,), bf16)) return y }"},
    {"R6Symbols", "R6 in f, binding y: call_tir passes 0 symbolic integers, the callee needs 1",
     "prim def k(x: Buffer((4,), f32), out y: Buffer((n,), f32), n: i64) { y[0] = x[0] }\n"
     "def f(x: Tensor((4,), f32)) -> Object {"
     " y: Object = call_tir(@k, (x,), Tensor((4,), f32)) return y }"},
    {"R6Dimension",
     "R6 in f, binding y: call_tir passes 'x', whose dimension 1 is 5, as the implementation's "
     "'x', "
     "where it is 4",
     "prim def k(x: Buffer((n, 4), f32), out y: Buffer((n, 4), f32), n: i64) { y[0, 0] = x[0, 0] "
     "}\n"
     "def f(x: Tensor((m, 5), f32)) -> Object {"
     " y: Tensor((m, 4), f32) = call_tir(@k, (x,), Tensor((m, 4), f32)) return y }"},
    {"R6OutputOfOtherVariables",
     "R6 in f, binding y: call_tir passes an output, whose dimension 0 is m, as the "
     "implementation's 'y', where it is m + 1",
     "prim def k(x: Buffer((n,), f32), out y: Buffer((n + 1,), f32), n: i64) { y[0] = x[0] }\n"
     "def f(x: Tensor((m,), f32)) -> Object {"
     " y: Tensor((m,), f32) = call_tir(@k, (x,), Tensor((m,), f32)) return y }"},
    {"R7UsedLater", "R7 in f, binding z: the variable 'x' is used after 'y' consumed it",
     BUMP R"(def f(x: Tensor((4,), f32), s: Tensor((), f32)) -> Object {
          y: Object = call_tir_inplace(@bump, (x, s), Tensor((4,), f32)) {inout_indices: [0]}
          z: Object = g(x)
          return y })"},
    {"R7AliasUsedLater", "R7 in f, binding z: the variable 'a' is used after 'y' consumed it",
     BUMP R"(def f(x: Tensor((4,), f32), s: Tensor((), f32)) -> Object {
          a: Tensor((4,), f32) = x
          y: Object = call_tir_inplace(@bump, (x, s), Tensor((4,), f32)) {inout_indices: [0]}
          z: Object = g(a)
          return y })"},
    {"R7NoSuchArgument", "R7 in f, binding y: inout_indices names argument 2 of 2",
     "prim def k(x: Buffer((4,), f32), s: Buffer((4,), f32), out y: Buffer((4,), f32)) {"
     " y[0] = x[0] }\n"
     "def f(x: Tensor((4,), f32), s: Tensor((4,), f32)) -> Object {"
     " y: Object = call_tir_inplace(@k, (x, s), Tensor((4,), f32)) {inout_indices: [2]} return y "
     "}"},
    {"R7Twice", "R7 in f, binding y: the call consumes 'x' and uses it a second time",
     "prim def k(inout x: Buffer((4,), f32), s: Buffer((4,), f32)) { x[0] = s[0] }\n"
     "def f(x: Tensor((4,), f32)) -> Object {"
     " y: Object = call_tir_inplace(@k, (x, x), Tensor((4,), f32)) {inout_indices: [0]} return y "
     "}"},
    {"R8ImpureFunction", "R8 in f, binding y: a dataflow block calls @g, which is impure",
     "impure def g(x: Object) -> Object { return x }\n"
     "impure def f(x: Object) -> Object { dataflow { y: Object = @g(x) output y } return y }"},
    {"R8PackedFunction", "R8 in f, binding y: a dataflow block calls extern \"p\", which is impure",
     "impure def f(x: Object) -> Object {"
     " dataflow { y: Object = extern \"p\"(x) output y } return y }"},
    {"R8ControlFlow", "R8 in f, binding y: a dataflow block has an if",
     "def f(x: Object) -> Object { dataflow { y: Object = if (x) { yield x } else { yield x }"
     " output y } return y }"},
    {"R9Rank", "R9 in f, result: returns Tensor((n,), f32) but declares Tensor((n, 1), f32)",
     "def f(x: Tensor((n,), f32)) -> Tensor((n, 1), f32) { return x }"},
    {"R9Kind", "R9 in f, result: returns Shape((n,)) but declares Tensor(f32)",
     "def f(x: Shape((n,))) -> Tensor(f32) { return x }"},
    {"R10Scalar", "R10 in f, parameter x: the scalar i32(4) has dtype i32 instead of i64",
     "def f(x: Prim(i64, i32(4))) -> Object { return x }"},
    {"R10Dimension", "R10 in f, binding y: the dimension i32(4) has dtype i32",
     "def f(x: Object) -> Object { y: Object = g(shape(i32(4))) return y }"},
};

const BrokenModule kTirCases[] = {
    {"T1OutsideItsAlloc", "T1 in k: the buffer 't' is used where it is not bound",
     R"(prim def k(out b: Buffer((4,), f32)) {
          { alloc t: Buffer((1,), f32, local) t[0] = f32(0) }
          b[0] = t[0] })"},
    {"T2FloatIndex", "T2 in k: 'b' has an index of dtype f32",
     "prim def k(out b: Buffer((4,), f32)) { b[f32(0)] = f32(0) }"},
    {"T3StoredDType", "T3 in k: a value of dtype i64 is stored to 'b' of dtype f32",
     "prim def k(out b: Buffer((4,), f32)) { b[0] = 0 }"},
    {"T4LoopVariableOutside", "T4 in k: the variable 'i' is used where it is not bound",
     "prim def k(out b: Buffer((4,), i64)) { for i in serial(4) { b[i] = i } b[0] = i }"},
    {"T5LoopVariableInBlock",
     "T5 in k, block \"x\": the body uses 'i', which is neither an iterator of the block nor a "
     "scalar parameter",
     R"(prim def k(out b: Buffer((4,), i64)) {
          for i in serial(4) { block "x" (vi: spatial(4) = i) { b[vi] = i } } })"},
    {"T6StoredInput", "T6 in k: the parameter 'a' of mode in is stored to",
     "prim def k(a: Buffer((4,), i64)) { a[0] = 1 }"},
    {"T7OutputNotStored", "T7 in k, parameter b: the out parameter is never stored to",
     "prim def k(out b: Buffer((4,), i64)) { }"},
    {"T8ParallelInParallel",
     "T8 in k, for j: a parallel loop is inside another parallel or work-group loop",
     R"(prim def k(out b: Buffer((4, 4), i64)) {
          for i in parallel(4) { for j in parallel(4) { b[i, j] = 0 } } })"},
    {"T8GroupsApart",
     "T8 in k, for j: a workgroup loop is inside another parallel or work-group loop, and not "
     "directly inside a work-group loop",
     R"(prim def k(out b: Buffer((4, 4), i64)) {
          for i in workgroup(4) { for s in serial(1) { for j in workgroup(4) { b[i, j] = 0 } } } })"},
    {"T8GroupsInSequence",
     "T8 in k, for j: a workgroup loop is inside another parallel or work-group loop, and not "
     "directly inside a work-group loop",
     R"(prim def k(out b: Buffer((4, 4), i64)) {
          for i in workgroup(4) { b[i, 0] = 0 for j in workgroup(4) { b[i, j] = 0 } } })"},
    {"T8GroupsInParallel",
     "T8 in k, for j: a workgroup loop is inside another parallel or work-group loop, and not "
     "directly inside a work-group loop",
     R"(prim def k(out b: Buffer((4, 4), i64)) {
          for i in parallel(4) { for j in workgroup(4) { b[i, j] = 0 } } })"},
    {"T8FourDimensions", "T8 in k, for l: a work-group loop is a fourth dimension of the grid",
     R"(prim def k(out b: Buffer((4, 4), i64)) {
          for i in workgroup(4) { for j in workgroup(4) { for k in workgroup(2) {
          for l in workgroup(2) { b[i, j] = 0 } } } } })"},
    {"T8UnrolledIterations",
     "T8 in k, for i: an unrolled loop has 100000000 iterations, of at most 256",
     "prim def k(out b: Buffer((1,), i64)) { for i in unrolled(100000000) { b[0] = 0 } }"},
    {"T8UnrolledTogether",
     "T8 in k, for k: nested unrolled loops have 16384 iterations together, of at most "
     "4096",
     "prim def k(out b: Buffer((1,), i64)) { for i in unrolled(256) { for j in unrolled(1) { "
     "for k in unrolled(64) { for l in unrolled(256) { b[0] = 0 } } } } }"},
    {"T8UnrolledExtent", "T8 in k, for i: the extent of a loop of kind unrolled is not constant: n",
     "prim def k(out b: Buffer((n,), i64), n: i64) { for i in unrolled(n) { b[i] = 0 } }"},
    {"T11OutsideThreads", "T11 in k: subgroup_sum(f32(1.0), 8) is outside a loop over threads",
     R"(prim def k(out b: Buffer((4,), f32)) { b[0] = subgroup_sum(f32(1), 8) })"},
    {"T11Width",
     "T11 in k, for t: subgroup_sum(f32(1.0), 8) is below a loop over 12 threads, which is not a "
     "multiple of its width",
     R"(prim def k(out b: Buffer((4,), f32)) {
          for t in thread(12) { b[0] = subgroup_sum(f32(1), 8) } })"},
    {"T11Part", "T11 in k, for t: subgroup_max(f32(1.0), 8) is not the whole value of a store",
     R"(prim def k(out b: Buffer((4,), f32)) {
          for t in thread(16) { b[0] = f32(1) + subgroup_max(f32(1), 8) } })"},
    {"T13InPlace",
     "T13 in k, requirements: in_place names parameters 1 and 0, which are not an input and an "
     "output",
     R"(prim def k(a: Buffer((4,), f32), out b: Buffer((4,), f32)) requires {in_place: [1, 0]} {
          for i in serial(4) { b[i] = a[i] } })"},
    {"T13Prepared",
     "T13 in k, requirements: data is prepared from parameter 7, which is not an input",
     R"(prim def k(out b: Buffer((4,), f32)) requires {prepared: [7], bytes: 4, digest: "d"} {
          for i in serial(4) { b[i] = f32(0) } })"},
    {"T13Bytes", "T13 in k, requirements: the prepared data has -4 bytes",
     R"(prim def k(a: Buffer((4,), f32), out b: Buffer((4,), f32))
            requires {prepared: [0], bytes: -4, digest: "d"} {
          for i in serial(4) { b[i] = a[i] } })"},
    {"T13Workspace", "T13 in k, requirements: the bytes of the workspace are a[0]",
     R"(prim def k(a: Buffer((4,), i64), out b: Buffer((4,), f32)) requires {workspace: a[0]} {
          for i in serial(4) { b[i] = f32(0) } })"},
    {"T9SubgroupMask",
     "T9 in k, for t: subgroup_shuffle_xor(f32(1.0), 8, 8) has a mask that is not from 1 to width "
     "- 1",
     R"(prim def k(out b: Buffer((4,), f32)) {
          for t in thread(16) { b[0] = subgroup_shuffle_xor(f32(1), 8, 8) } })"},
    {"T9SubgroupWidth",
     "T9 in k, for t: subgroup_sum(f32(1.0), 6) has a width that is not a power of two of at least "
     "2",
     R"(prim def k(out b: Buffer((4,), f32)) {
          for t in thread(12) { b[0] = subgroup_sum(f32(1), 6) } })"},
    {"T9SubgroupDType",
     "T9 in k, for t: subgroup_sum(f64(1.0), 8) has a dtype that subgroup operations do not "
     "support; f32, i32 and u32 are supported",
     R"(prim def k(out b: Buffer((4,), f64)) {
          for t in thread(16) { b[0] = subgroup_sum(f64(1), 8) } })"},
    {"T8LocalShape", "T8 in k: the local buffer 't' has the dimension n, which is not constant",
     "prim def k(out b: Buffer((n,), i64), n: i64) {"
     " alloc t: Buffer((n,), i64, local) b[0] = t[0] }"},
    {"T9FloatDivisionOfIntegers", "T9 in k: 4 / 2 is a float division of integers; // rounds down",
     "prim def k(out b: Buffer((4,), i64)) { b[0] = 4 / 2 }"},
    {"T9ConditionNoBool", "T9 in k: the condition of an if is not a bool",
     "prim def k(out b: Buffer((4,), i64)) { if 1 { b[0] = 0 } }"},
    {"T9ConstantRange", "T9 in k: i8(200) is out of the range of its dtype",
     "prim def k(out b: Buffer((4,), i8)) { b[0] = i8(200) }"},
    {"T9Reinterpret", "T9 in k: reinterpret(i32, a[0]) changes the width",
     "prim def k(a: Buffer((4,), f64), out b: Buffer((4,), i32)) { b[0] = reinterpret(i32, a[0]) "
     "}"},
};

std::string case_name(const testing::TestParamInfo<BrokenModule>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Graph, Verifier, testing::ValuesIn(kGraphCases), case_name);
INSTANTIATE_TEST_SUITE_P(TensorProgram, Verifier, testing::ValuesIn(kTirCases), case_name);

constexpr const char* kGood = RELU BUMP R"(
def main(x: Tensor((n, 4), f32), p: Tensor((4,), f32), s: Tensor((), f32))
    -> Tuple(Tensor((n, 4), f32), Tensor((4,), f32)) {
  dataflow {
    a: Tensor((n, 4), f32) = call_tir(@relu, (x,), Tensor((n, 4), f32))
    b: Tensor((n, 4), f32) = silu(a)
    output b
  }
  c: Tensor((m, 4), f32) = match_cast(b, Tensor((m, 4), f32))
  d: Shape((m*2,)) = shape(m*2)
  q: Tensor((4,), f32) = call_tir_inplace(@bump, (p, s), Tensor((4,), f32)) {inout_indices: [0]}
  e: Tensor((n, 4), f32) = if (s) {
    t: Tensor((n, 4), f32) = exp(b)
    yield t
  } else {
    yield b
  }
  return (e, q)
}
prim def sum(a: Buffer((n, 8), f32), out b: Buffer((n,), f32), n: i64) {
  alloc t: Buffer((n, 8), f32)
  for i in parallel((n + 3)//4) {
    for u in unrolled(4) {
      block "copy" (vi: spatial(n) = i*4 + u) {
        where i*4 + u < n
        reads a[vi, 0 +: 8]
        writes t[vi, 0 +: 8]
        for j in vectorized(8) {
          t[vi, j] = let x: f32 = a[vi, j] in exp(x)*cast(f32, n)
        }
      }
    }
  }
  for i in serial(n) {
    for r in serial(8) {
      block "sum" (vi: spatial(n) = i, vr: reduce(8) = r) {
        reads t[vi, vr]
        writes b[vi]
        init { b[vi] = f32(0) }
        b[vi] = b[vi] + t[vi, vr]
      }
    }
  }
}
)";

TEST(VerifierModule, AcceptsAGoodModule) {
  for (const Violation& v : find_violations(module_of(kGood))) ADD_FAILURE() << v.to_string();
  EXPECT_NO_THROW(verify(module_of(kGood), "import"));
}

// With n = 1 both extents are negative, and their product is not. No run gets there.
TEST(VerifierModule, TakesNoSizeFromNegativeExtents) {
  const Module module = module_of(R"(
def f(x: Tensor((n,), f32)) -> Tensor((n - 3, n*2 - 5), f32) {
  s: Object = memory.alloc_storage(shape(max(n - 3, 0)*max(n*2 - 5, 0)*4))
  y: Tensor((n - 3, n*2 - 5), f32) = memory.alloc_tensor(s, shape(n - 3, n*2 - 5)) {dtype: f32}
  return y
}
)");
  for (const Violation& v : find_violations(module)) ADD_FAILURE() << v.to_string();
}

// Modules that the text format cannot express are built from a parsed module.
Module with_body(const Module& module, const std::string& name,
                 const std::function<void(Function&, relax::SeqNode&)>& change) {
  Module result = module;
  auto function = std::make_shared<Function>(*relax::as_relax_function(module.find(name)));
  auto seq = std::make_shared<relax::SeqNode>(relax::body_of(*function));
  change(*function, *seq);
  function->body = seq;
  result.functions[name] = function;
  return result;
}

const char* const kTwoBindings =
    "def f(x: Object) -> Object { a: Object = g(x) b: Object = g(a) return b }";

TEST(VerifierModule, R1UseBeforeBinding) {
  Module module = with_body(module_of(kTwoBindings), "f", [](Function&, relax::SeqNode& seq) {
    std::swap(seq.blocks[0].bindings[0], seq.blocks[0].bindings[1]);
  });
  expect_violation(module, "R1 in f, binding b: the variable 'a' is used before it is bound");
}

TEST(VerifierModule, R1BoundTwice) {
  Module module = with_body(module_of(kTwoBindings), "f", [](Function&, relax::SeqNode& seq) {
    seq.blocks[0].bindings.push_back(seq.blocks[0].bindings[0]);
  });
  expect_violation(module, "R1 in f, binding a: the variable 'a' is bound twice");
}

TEST(VerifierModule, R9NoAnnotation) {
  Module module = with_body(module_of(kTwoBindings), "f",
                            [](Function& f, relax::SeqNode&) { f.result = nullptr; });
  expect_violation(module, "R9 in f, result annotation: the function has no annotation");
}

TEST(VerifierModule, R7InOneBranchDoesNotAffectTheOther) {
  Module module = module_of(BUMP R"(
    def f(x: Tensor((4,), f32), s: Tensor((), f32)) -> Object {
      y: Object = if (s) {
        a: Tensor((4,), f32) =
            call_tir_inplace(@bump, (x, s), Tensor((4,), f32)) {inout_indices: [0]}
        yield a
      } else {
        yield x
      }
      return y
    })");
  EXPECT_TRUE(find_violations(module).empty());
}

Module with_prim_body(tir::Stmt body, std::vector<tir::Param> params) {
  auto func = std::make_shared<tir::PrimFunc>();
  func->params = std::move(params);
  func->body = std::move(body);
  Module module;
  module.functions["k"] = func;
  return module;
}

TEST(VerifierModule, T2IndexCount) {
  auto b = tir::make_buffer("b", DType::kF32, {4, 4});
  expect_violation(
      with_prim_body(tir::make_store(b, {0}, make_float(0, DType::kF32)), {{b, AccessMode::kOut}}),
      "T2 in k: 'b' is accessed with 1 indices for 2 dimensions");
}

TEST(VerifierModule, T4BoundTwice) {
  auto b = tir::make_buffer("b", DType::kI64, {4});
  Var i = make_var("i");
  tir::Stmt loop = tir::make_for(i, 4, tir::make_store(b, {i}, 0));
  expect_violation(with_prim_body(tir::make_seq({loop, loop}), {{b, AccessMode::kOut}}),
                   "T4 in k, for i: the variable 'i' is bound twice");
}

TEST(VerifierModule, T9OperandDTypes) {
  auto b = tir::make_buffer("b", DType::kI64, {4});
  PrimExpr sum = make_node(ExprKind::kAdd, DType::kI64, {1, make_int(1, DType::kI32)});
  expect_violation(with_prim_body(tir::make_store(b, {0}, sum), {{b, AccessMode::kOut}}),
                   "T9 in k: 1 + i32(1) has operands of different dtypes, i64 and i32");
}

TEST(VerifierModule, T10MissingBody) {
  auto b = tir::make_buffer("b", DType::kI64, {4});
  expect_violation(with_prim_body(tir::make_for(make_var("i"), 4, nullptr), {}),
                   "T10 in k, for i: a body is missing");
}

TEST(VerifierModule, NamesThePassAndCountsTheRest) {
  Module module = module_of(
      "prim def k(out b: Buffer((4,), i64)) { }\nprim def l(out b: Buffer((4,), i64)) { }");
  try {
    verify(module, "fuse");
    FAIL();
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kInternal);
    EXPECT_EQ(e.error().where, "after pass fuse");
    EXPECT_EQ(e.error().message,
              "the module breaks invariant T7 in k, parameter b: the out parameter is never "
              "stored to (and 1 more violation)");
  }
  try {
    verify_input(module, "m.tapml");
    FAIL();
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kUser);
    EXPECT_EQ(e.error().where, "m.tapml");
  }
}

// A dimension that is a scalar of another dtype is not compared with i64 dimensions.
TEST(VerifierModule, ADimensionOfAnotherDTypeIsNotAnInternalError) {
  Module module = text::parse(R"(module
def k(x: Tensor((n,), f32)) -> Tensor((n, 8), f32) {kernel: true, implementation: "k_impl"} {
  y: Tensor((n, 8), f32) = broadcast_to(x, shape(n, 8))
  return y
}
prim def k_impl(out o: Buffer((n, 8), f32), n: i32) {
}
def main(x: Tensor((n,), f32)) -> Tensor() {
  y: Tensor() = call_tir(@k, (), Tensor((n, 8), f32))
  return y
})",
                              "test");
  try {
    verify_input(module, "m.tapml");
    FAIL();
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kUser) << e.error().to_string();
  }
}

}  // namespace
}  // namespace tapml::analysis
