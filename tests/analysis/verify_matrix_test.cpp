// Invariants T14 to T18, and T8 and T11 as far as they concern shared buffers and matrix
// operations.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "support/matrix_program.h"
#include "text/parser.h"

namespace tapml::analysis {
namespace {

std::string violations_of(const std::string& text) {
  std::string all;
  for (const Violation& one : find_violations(text::parse(text, "test", {.scoped = false}))) {
    all += (all.empty() ? "" : "\n") + one.invariant + ": " + one.message;
  }
  return all;
}

// A thread loop over 32 threads with fragments a, b (f16), c (f32) and a shared buffer s.
std::string in_threads(const std::string& body) {
  return R"(prim def k(x: Buffer((n, 16), f16), i: Buffer((n,), i64), inout y: Buffer((n, 16), f32),
                       n: i64) {
    for g in workgroup(n) {
      alloc s: Buffer((16, 16), f16, shared)
      for t in thread(32) {
        alloc l: Buffer((16, 16), f16, local)
        alloc a: Buffer((16, 16), f16, fragment)
        alloc b: Buffer((16, 16), f16, fragment)
        alloc c: Buffer((16, 16), f32, fragment)
        alloc d: Buffer((16, 8), f32, fragment)
        )" +
         body + "\n } } }";
}

struct Case {
  const char* name;
  const char* violation;
  const char* body;
};

class MatrixInvariants : public ::testing::TestWithParam<Case> {};

TEST_P(MatrixInvariants, AreReported) {
  EXPECT_EQ(violations_of(in_threads(GetParam().body)), GetParam().violation);
}

const Case kInThreads[] = {
    {"Good", "",
     R"(a = matrix_load(x[0, 0], 16, row_major, 32)
        b = matrix_load(s[0, 0], 16, column_major, 32)
        c = matrix_fill(f32(0), 32)
        c = matrix_multiply_add(a, b, c, 32)
        y[0, 0] = matrix_store(c, n, row_major, 32))"},
    {"T11Width", "T11: matrix_fill has the width 6, which is not a power of two of at least 2",
     "c = matrix_fill(f32(0), 6)"},
    {"T11Threads",
     "T11: matrix_fill is below a loop over 32 threads, which is not a multiple of its width",
     "c = matrix_fill(f32(0), 64)"},
    {"T14Scope", "T14: the global buffer 'p' has strides",
     "alloc p: Buffer((4, 2), f32, strides=(3, 1)) p[0, 0] = f32(0)"},
    {"T14Overlap", "T14: 'p' has the stride 3, which is not proved to be at least 4",
     "alloc p: Buffer((2, 4), f32, local, strides=(3, 1)) p[0, 0] = f32(0)"},
    {"T14Zero", "T14: 'p' has the stride 0, which is not proved to be at least 1",
     "alloc p: Buffer((2, 4), f32, local, strides=(4, 0)) p[0, 0] = f32(0)"},
    {"T14Loop", "T14: 'p' has the stride g + 8, which is not an integer over scalar parameters",
     "alloc p: Buffer((2, 4), f32, shared, strides=(g + 8, 1)) p[0, 0] = f32(0)"},
    {"T14Local", "T14: 'p' has the stride n + 4, which is not a constant integer",
     "alloc p: Buffer((2, 4), f32, local, strides=(n + 4, 1)) p[0, 0] = f32(0)"},
    {"T14Symbolic", "",
     "alloc p: Buffer((2, n), f32, shared, strides=(n + 4, 1)) p[0, 0] = f32(0)"},
    {"T14SymbolicOverlap", "T14: 'p' has the stride n - 1, which is not proved to be at least n",
     "alloc p: Buffer((2, n), f32, shared, strides=(n - 1, 1)) p[0, 0] = f32(0)"},
    {"T8SharedLoop",
     "T8: the shared buffer 'p' has the dimension g + 1, which uses more than scalar parameters",
     "alloc p: Buffer((g + 1,), f32, shared) p[0] = f32(0)"},
    {"T8SharedData",
     "T8: the shared buffer 'p' has the dimension i[0], which uses more than scalar parameters",
     "alloc p: Buffer((i[0],), f32, shared) p[0] = f32(0)"},
    {"T8SharedScalar", "", "alloc p: Buffer((n*2 + 1,), f32, shared) p[0] = f32(0)"},
    {"T15Rank", "T15: the fragment 'p' does not have two constant positive dimensions",
     "alloc p: Buffer((16,), f32, fragment)"},
    {"T15Symbolic", "T15: the fragment 'p' does not have two constant positive dimensions",
     "alloc p: Buffer((16, n), f32, fragment)"},
    {"T15Empty", "T15: the fragment 'p' does not have two constant positive dimensions",
     "alloc p: Buffer((16, 0), f32, fragment)"},
    {"T15Load", "T15: the fragment 'c' is accessed by something other than a matrix operation",
     "y[0, 0] = c[0, 0]"},
    {"T15Store", "T15: the fragment 'c' is accessed by something other than a matrix operation",
     "c[0, 0] = f32(0)"},
    {"T15Copy",
     "T15: the fragment 'a' is accessed by something other than a matrix operation\n"
     "T17: copy_async copies to 'a', which is not shared",
     "copy_async(a[0, 0], x[0, 0])"},
    {"T16Widths", "T16: matrix_load has the width 16, another one 32",
     "c = matrix_fill(f32(0), 32) a = matrix_load(x[0, 0], 16, row_major, 16)"},
    {"T16NoFragment", "T16: matrix_fill has the operand 's', which is not a fragment",
     "s = matrix_fill(f16(0), 32)"},
    {"T16FillDtype", "T16: matrix_fill fills 'c' of dtype f32 with a value of dtype f16",
     "c = matrix_fill(f16(0), 32)"},
    {"T16LoadDtype",
     "T16: matrix_load moves elements between 'y' of dtype f32 and 'a' of dtype f16",
     "a = matrix_load(y[0, 0], 16, row_major, 32)"},
    {"T16Memory", "T16: matrix_load accesses 'l', which is neither global nor shared",
     "a = matrix_load(l[0, 0], 16, row_major, 32)"},
    {"T16Rows",
     "T16: matrix_store has the leading dimension 7, less than the 8 elements of a row of 'd'",
     "y[0, 0] = matrix_store(d, 7, row_major, 32)"},
    {"T16Columns",
     "T16: matrix_store has the leading dimension 8, less than the 16 elements of a column of 'd'",
     "y[0, 0] = matrix_store(d, 8, column_major, 32)"},
    {"T16ProductDtypes",
     "T16: matrix_multiply_add has operands of dtypes f16, f32 and f32; f16, f16 and f32 or f16, "
     "bf16, bf16 and f32, and i8, i8 and i32 are supported",
     "alloc e: Buffer((16, 16), f32, fragment) c = matrix_multiply_add(a, e, c, 32)"},
    {"T16ProductExtents",
     "T16: matrix_multiply_add has operands of 16 x 16, 16 x 16 and 16 x 8 elements; m x k, k x n "
     "and m x n are expected",
     "d = matrix_multiply_add(a, b, d, 32)"},
    {"T16Result",
     "T16: matrix_multiply_add stores to 'd', whose dtype or extents are not those of 'c'",
     "d = matrix_multiply_add(a, b, c, 32)"},
    {"T16Role",
     "T16: matrix_multiply_add uses 'a' as a right operand, another one as a left operand",
     "c = matrix_multiply_add(a, a, c, 32)"},
    {"T6Load", "T6: the parameter 'x' of mode in is stored to",
     "x[0, 0] = matrix_store(a, 16, row_major, 32)"},
    {"T17From", "T17: copy_async copies from 's', which is not global",
     "alloc p: Buffer((1,), f16, shared) copy_async(p[0], s[0, 0]) commit_copies() wait_copies(0)"},
    {"T17Dtype", "T17: copy_async copies from 'y' of dtype f32 to 's' of dtype f16",
     "copy_async(s[0, 0], y[0, 0]) commit_copies() wait_copies(0)"},
    {"T17Extent",
     "T17: copy_async has a box of 's' with the extent n, which is not a positive constant",
     "copy_async(s[0, 0 +: n], x[0, 0 +: n]) commit_copies() wait_copies(0)"},
    {"T17Boxes", "T17: copy_async copies between boxes of 's' and 'x' whose extents differ",
     "copy_async(s[0, 0 +: 8], x[0, 0 +: 4]) commit_copies() wait_copies(0)"},
    {"T17Turned", "T17: copy_async copies between boxes of 's' and 'x' whose extents differ",
     "copy_async(s[0 +: 4, 0 +: 8], x[0 +: 8, 0 +: 4]) commit_copies() wait_copies(0)"},
    {"T17Outstanding", "T17: wait_copies has a negative number of groups", "wait_copies(-1)"},
};

std::string matrix_case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Operands, MatrixInvariants, ::testing::ValuesIn(kInThreads),
                         matrix_case_name);

// Copies to s, then what follows; the copies of the cases are complete at the end.
const Case kInOrder[] = {
    {"T18Good", "",
     R"(copy_async(s[0, 0], x[0, 0]) commit_copies() wait_copies(0) barrier
        y[0, 0] = cast(f32, s[0, 0]))"},
    {"T18NoWait",
     "T18: 's' is read after copy_async without a wait that covers the copy and a barrier in "
     "between",
     R"(copy_async(s[0, 0], x[0, 0]) commit_copies() barrier
        a = matrix_load(s[0, 0], 16, row_major, 32)
        wait_copies(0))"},
    {"T18NoBarrier", "T18: 's' is read after copy_async without a barrier after the wait",
     R"(copy_async(s[0, 0], x[0, 0]) commit_copies() barrier wait_copies(0)
        y[0, 0] = cast(f32, s[0, 0]))"},
    {"T18NoCommit",
     "T18: 's' is read after copy_async without a commit_copies, a wait and a barrier in between",
     R"(copy_async(s[0, 0], x[0, 0]) wait_copies(0) barrier
        y[0, 0] = cast(f32, s[0, 0]) commit_copies() wait_copies(0))"},
    {"T18LateWait",
     "T18: 's' is read after copy_async without a wait that covers the copy and a barrier in "
     "between",
     R"(copy_async(s[0, 0], x[0, 0]) commit_copies() commit_copies() wait_copies(2) barrier
        y[0, 0] = cast(f32, s[0, 0]) wait_copies(0))"},
    {"T18EarlierGroup", "",
     R"(copy_async(s[0, 0], x[0, 0]) commit_copies() commit_copies() wait_copies(1) barrier
        y[0, 0] = cast(f32, s[0, 0]))"},
    {"T18NextIteration",
     "T18: 's' is read after copy_async without a wait that covers the copy and a barrier in "
     "between",
     R"(for r in serial(n) {
          y[0, 0] = cast(f32, s[0, 0]) copy_async(s[0, 0], x[0, 0]) commit_copies() barrier
        }
        wait_copies(0))"},
    // Three groups are under way after the loop: the wait covers the first.
    {"T18GroupsOfALoop", "",
     R"(for r in serial(3) { copy_async(s[r, 0], x[0, 0]) commit_copies() }
        wait_copies(2) barrier
        y[0, 0] = cast(f32, s[0, 0]) wait_copies(0))"},
    {"T18MoreThanALoop",
     "T18: 's' is read after copy_async without a wait that covers the copy and a barrier in "
     "between",
     R"(for r in serial(3) { copy_async(s[r, 0], x[0, 0]) commit_copies() }
        wait_copies(3) barrier
        y[0, 0] = cast(f32, s[0, 0]) wait_copies(0))"},
    {"T18InABranch", "",
     R"(for r in serial(n) {
          copy_async(s[r%3, 0], x[0, 0]) commit_copies()
          if r >= 2 { wait_copies(2) barrier y[0, 0] = cast(f32, s[r%3, 0]) }
        }
        wait_copies(0))"},
    {"T18CopyInABranch",
     "T18: 's' is read after copy_async without a wait that covers the copy and a barrier in "
     "between",
     R"(if t < 16 { copy_async(s[t, 0], x[0, 0]) }
        commit_copies() barrier
        y[0, 0] = cast(f32, s[0, 0]) wait_copies(0))"},
    {"T18AfterAStore", "",
     R"(s[1, 0] = f16(0) copy_async(s[0, 0], x[0, 0]) commit_copies() barrier
        y[0, 0] = cast(f32, s[1, 0]) wait_copies(0))"},
    {"T18MemoryEnds",
     "T18: the memory of 'p' ends before a wait for the copies to it; wait_copies(0) waits for all",
     R"({ alloc p: Buffer((2,), f16, shared) copy_async(p[0], x[0, 0]) commit_copies() }
        wait_copies(0))"},
};
INSTANTIATE_TEST_SUITE_P(Order, MatrixInvariants, ::testing::ValuesIn(kInOrder), matrix_case_name);

TEST(MatrixPrograms, ThatStageTilesAreValid) {
  EXPECT_EQ(violations_of(testing::matrix_program()), "");
  const std::string unread =
      "T18: 'xs' is read after copy_async without a wait that covers the copy and a barrier in "
      "between\n"
      "T18: 'ws' is read after copy_async without a wait that covers the copy and a barrier in "
      "between";
  EXPECT_EQ(violations_of(testing::matrix_program("barrier")), unread);
  EXPECT_EQ(violations_of(testing::matrix_program("wait_copies(2) barrier")), unread);
}

TEST(MatrixPrograms, OutsideThreadsAreRefused) {
  EXPECT_EQ(violations_of(R"(prim def k(x: Buffer((16, 16), f32), out y: Buffer((16, 16), f32)) {
      for g in workgroup(1) {
        alloc c: Buffer((16, 16), f32, fragment)
        c = matrix_load(x[0, 0], 16, row_major, 32)
        y[0, 0] = matrix_store(c, 16, row_major, 32)
        commit_copies()
      } })"),
            "T15: the fragment 'c' is allocated outside a loop over threads\n"
            "T11: matrix_load is outside a loop over threads\n"
            "T11: matrix_store is outside a loop over threads\n"
            "T17: commit_copies is outside a loop over threads");
  EXPECT_EQ(violations_of("prim def k(x: Buffer((16, 16), f32, fragment)) { }"),
            "T15: the parameter 'x' is a fragment");
}

// Copies in loops that are nested deep take no time.
TEST(MatrixPrograms, NestedDeepAreVerifiedAtOnce) {
  std::string loops, ends;
  for (int i = 0; i < 200; ++i) {
    loops += "for r" + std::to_string(i) + " in serial(n) {\n";
    ends += "}";
  }
  EXPECT_EQ(violations_of(in_threads(loops + "copy_async(s[0, 0], x[0, 0]) commit_copies()" + ends +
                                     "\nwait_copies(0)")),
            "");
}

}  // namespace
}  // namespace tapml::analysis
