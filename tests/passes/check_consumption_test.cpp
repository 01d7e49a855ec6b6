// Programs that use a tensor after an update in place: what is refused, with which message.
#include "passes/check_consumption.h"

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "support/expect_error.h"
#include "text/parser.h"

namespace tapml::passes {
namespace {

// Overwrites `pool` by x. @put is a tensor program, @update a function that calls it.
const char* const kPut = R"(
def update(pool: Tensor((4,), f32), x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = call_tir_inplace(@put, (pool, x), Tensor((4,), f32)) {inout_indices: [0]}
  return a
}
prim def put(inout pool: Buffer((4,), f32), x: Buffer((4,), f32)) {
  for i in parallel(4) {
    pool[i] = x[i]
  }
}
)";

Module with_put(const std::string& text) { return text::parse("module\n" + text + kPut, "test"); }

// main with this body, of a condition and two tensors.
std::string main_of(const std::string& body) {
  return "def main(c: Prim(bool), pool: Tensor((4,), f32), x: Tensor((4,), f32)) -> "
         "Tensor((4,), f32) {\n" +
         body + "}\n";
}

void expect_unconsumed(const std::string& text) {
  EXPECT_NO_THROW(check_consumption(with_put(text))) << text;
}

// The whole message.
void expect_consumed(const std::string& text, const std::string& message) {
  const Status status = guard([&] { check_consumption(with_put(text)); });
  ASSERT_FALSE(status) << "accepted:\n" << text;
  EXPECT_EQ(status.error().kind, ErrorKind::kUser);
  EXPECT_EQ(status.error().to_string(), message) << text;
}

const char* const kPoolIsGone = R"('pool' is used after @put updated it in place
  where: @main, b
  expected: the result of @put
  found: pool
  hint: copy(pool) before the update keeps the old value)";

TEST(CheckConsumption, AnUpdatedTensorIsNotReadAgain) {
  expect_consumed(main_of(R"(
  a: Tensor((4,), f32) = call_tir_inplace(@put, (pool, x), Tensor((4,), f32)) {inout_indices: [0]}
  b: Tensor((4,), f32) = add(a, pool)
  return b
)"),
                  kPoolIsGone);
  expect_consumed(main_of(R"(
  a: Tensor((4,), f32) = call_tir_inplace(@put, (pool, x), Tensor((4,), f32)) {inout_indices: [0]}
  return pool
)"),
                  R"('pool' is used after @put updated it in place
  where: @main, the result
  expected: the result of @put
  found: pool
  hint: copy(pool) before the update keeps the old value)");
  // Reads before the update, of its result and of a copy.
  expect_unconsumed(main_of(R"(
  kept: Tensor((4,), f32) = copy(pool)
  before: Tensor((4,), f32) = add(pool, x)
  a: Tensor((4,), f32) = call_tir_inplace(@put, (pool, before), Tensor((4,), f32)) {inout_indices: [0]}
  b: Tensor((4,), f32) = call_tir_inplace(@put, (a, x), Tensor((4,), f32)) {inout_indices: [0]}
  d: Tensor((4,), f32) = add(b, kept)
  return d
)"));
}

TEST(CheckConsumption, OperatorsThatUpdateAnArgumentConsumeIt) {
  const std::string append = R"(
def main(pool: Tensor((3, 2, 1, 1), f32), fresh: Tensor((1, 2, 1, 1), f32), table: Tensor((1, 2), i32), lengths: Tensor((1,), i32)) -> Tensor((3, 2, 1, 1), f32) {
  a: Tensor((3, 2, 1, 1), f32) = kv_append(pool, fresh, table, lengths)
  b: Tensor((3, 2, 1, 1), f32) = add(a, READ)
  return b
}
)";
  auto reading = [&](const char* variable) {
    std::string text = append;
    return text.replace(text.find("READ"), 4, variable);
  };
  expect_consumed(reading("pool"), R"('pool' is used after kv_append updated it in place
  where: @main, b
  expected: the result of kv_append
  found: pool
  hint: copy(pool) before the update keeps the old value)");
  expect_unconsumed(reading("fresh"));
}

TEST(CheckConsumption, OtherNamesAndViewsShareTheTensor) {
  expect_consumed(main_of(R"(
  other: Tensor((4,), f32) = pool
  a: Tensor((4,), f32) = call_tir_inplace(@put, (other, x), Tensor((4,), f32)) {inout_indices: [0]}
  b: Tensor((4,), f32) = add(a, pool)
  return b
)"),
                  kPoolIsGone);
  expect_consumed(main_of(R"(
  square: Tensor((2, 2), f32) = reshape(pool, shape(2, 2))
  a: Tensor((4,), f32) = call_tir_inplace(@put, (pool, x), Tensor((4,), f32)) {inout_indices: [0]}
  b: Tensor((2, 2), f32) = negative(square)
  return a
)"),
                  R"('square' is used after @put updated it in place
  where: @main, b
  expected: the result of @put
  found: square
  hint: copy(square) before the update keeps the old value)");
}

TEST(CheckConsumption, TuplesShareTheirFields) {
  const std::string pair = R"(
  p: Tuple(Tensor((4,), f32), Tensor((4,), f32)) = (pool, x)
  a: Tensor((4,), f32) = call_tir_inplace(@put, (pool, x), Tensor((4,), f32)) {inout_indices: [0]}
)";
  expect_consumed(main_of(pair + "  b: Tensor((4,), f32) = p[0]\n  return b\n"),
                  R"('p[0]' is used after @put updated it in place
  where: @main, b
  expected: the result of @put
  found: p[0]
  hint: copy(p[0]) before the update keeps the old value)");
  expect_unconsumed(main_of(pair + "  b: Tensor((4,), f32) = p[1]\n  return b\n"));
  // A field of a parameter.
  const std::string fields = R"(
def main(p: Tuple(Tensor((4,), f32), Tensor((4,), f32))) -> Tensor((4,), f32) {
  pool: Tensor((4,), f32) = p[0]
  x: Tensor((4,), f32) = p[1]
  a: Tensor((4,), f32) = call_tir_inplace(@put, (pool, x), Tensor((4,), f32)) {inout_indices: [0]}
)";
  expect_consumed(fields + "  b: Tensor((4,), f32) = p[0]\n  return b\n}\n",
                  R"('p[0]' is used after @put updated it in place
  where: @main, b
  expected: the result of @put
  found: p[0]
  hint: copy(p[0]) before the update keeps the old value)");
  expect_unconsumed(fields + "  b: Tensor((4,), f32) = p[1]\n  return b\n}\n");
  // A function that updates a field consumes its argument, with all fields.
  expect_consumed(main_of(R"(
  p: Tuple(Tensor((4,), f32), Tensor((4,), f32)) = (pool, x)
  a: Tensor((4,), f32) = @first(p)
  b: Tensor((4,), f32) = add(a, pool)
  return b
)") + R"(
def first(p: Tuple(Tensor((4,), f32), Tensor((4,), f32))) -> Tensor((4,), f32) {
  pool: Tensor((4,), f32) = p[0]
  x: Tensor((4,), f32) = p[1]
  a: Tensor((4,), f32) = call_tir_inplace(@put, (pool, x), Tensor((4,), f32)) {inout_indices: [0]}
  return a
}
)",
                  R"('pool' is used after @first updated it in place
  where: @main, b
  expected: the result of @first
  found: pool
  hint: copy(pool) before the update keeps the old value)");
}

// What one branch consumes is gone after the if, but not in the other branch.
TEST(CheckConsumption, OneBranchRuns) {
  const std::string branches = R"(
  a: Tensor((4,), f32) = if (c) {
    d: Tensor((4,), f32) = @update(pool, x)
    yield d
  } else {
    e: Tensor((4,), f32) = add(pool, x)
    yield e
  }
)";
  expect_unconsumed(main_of(branches + "  return a\n"));
  expect_consumed(main_of(branches + "  b: Tensor((4,), f32) = add(a, pool)\n  return b\n"),
                  R"('pool' is used after @update updated it in place
  where: @main, b
  expected: the result of @update
  found: pool
  hint: copy(pool) before the update keeps the old value)");
}

// @outer updates its second argument through @inner, which may call itself before it does.
TEST(CheckConsumption, CallersUpdateWhatTheirCalleesDo) {
  const std::string functions = R"(
def outer(x: Tensor((4,), f32), c: Prim(bool), pool: Tensor((4,), f32)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = @inner(pool, x, c)
  return a
}
def inner(pool: Tensor((4,), f32), x: Tensor((4,), f32), c: Prim(bool)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = if (c) {
    b: Tensor((4,), f32) = @inner(pool, x, c)
    yield b
  } else {
    d: Tensor((4,), f32) = @update(pool, x)
    yield d
  }
  return a
}
)";
  expect_consumed(main_of(R"(
  a: Tensor((4,), f32) = @outer(x, c, pool)
  b: Tensor((4,), f32) = add(a, pool)
  return b
)") + functions,
                  R"('pool' is used after @outer updated it in place
  where: @main, b
  expected: the result of @outer
  found: pool
  hint: copy(pool) before the update keeps the old value)");
  // The other argument keeps its value.
  expect_unconsumed(main_of(R"(
  a: Tensor((4,), f32) = @outer(x, c, pool)
  b: Tensor((4,), f32) = add(a, x)
  return b
)") + functions);
}

TEST(CheckConsumption, AFunctionThatUpdatesIsNotAValue) {
  const char* const message = R"(@update updates an argument in place and is used as a value
  where: @main
  expected: calls of it by its name
  found: @update
  hint: copy(x) before the update keeps the argument)";
  const std::string type = "Callable((Tensor((4,), f32), Tensor((4,), f32)), Tensor((4,), f32))";
  expect_consumed(main_of("  f: " + type + " = @update\n  return x\n"), message);
  expect_consumed(main_of("  f: " + type + R"( = if (c) {
    yield @update
  } else {
    yield @update
  }
  return x
)"),
                  message);
  expect_consumed(main_of("  a: Tensor((4,), f32) = @twice(@update, pool, x)\n  return a\n") +
                      "def twice(f: " + type +
                      R"(, pool: Tensor((4,), f32), x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = f(pool, x)
  return a
}
)",
                  message);
  // A function that updates only its own copy is one.
  expect_unconsumed(main_of("  f: " + type + " = @updated\n  a: Tensor((4,), f32) = f(pool, x)\n" +
                            "  b: Tensor((4,), f32) = add(a, pool)\n  return b\n") +
                    R"(
def updated(pool: Tensor((4,), f32), x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  own: Tensor((4,), f32) = copy(pool)
  a: Tensor((4,), f32) = @update(own, x)
  return a
}
)");
}

}  // namespace
}  // namespace tapml::passes
