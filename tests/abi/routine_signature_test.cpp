// Signatures of library routines: parsing, and the calls that they reject.
#include "abi/routine_signature.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tapml {
namespace {

using testing::expect_parts;

RoutineSignature signature(std::string_view text) {
  auto parsed = parse_routine_signature(text, "here");
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : RoutineSignature();
}

// "argument: expected, found", or "" for a valid call.
std::string fault(const RoutineSignature& signature, const std::vector<RoutineTensor>& inputs,
                  const std::vector<RoutineTensor>& outputs, size_t parameters = 0) {
  auto found = find_type_fault(signature, inputs, outputs, parameters);
  if (!found) return "";
  return fault_message(signature, "f", *found) + ": " + found->expected + ", not " + found->found;
}

using Shape = std::vector<int64_t>;

std::string shape_fault(const RoutineSignature& signature, const std::vector<Shape>& inputs,
                        const std::vector<Shape>& outputs,
                        const std::vector<int64_t>& parameters = {}) {
  auto dims_of = [&](size_t i) -> std::optional<std::span<const int64_t>> {
    if (i < signature.inputs && i >= inputs.size()) return {};
    const Shape& dims = i < signature.inputs ? inputs[i] : outputs[i - signature.inputs];
    return std::span<const int64_t>(dims);
  };
  auto found = find_shape_fault<int64_t>(
      signature, parameters, dims_of, [](int64_t a, int64_t b) { return a != b; },
      [](int64_t dim) { return std::to_string(dim); });
  if (!found) return "";
  return fault_message(signature, "f", *found) + ": " + found->expected + ", not " + found->found;
}

TEST(RoutineSignature, ChecksDtypesAndRanks) {
  const RoutineSignature product = signature(
      "a: T[~batch, m, k], b: T[~batch, k, n], bias: f32[n]? -> c: T[*batch, m, n]; "
      "scale; T: f32 | f64");
  EXPECT_EQ(product.inputs, 3u);
  const RoutineTensor f32{DType::kF32, 2}, f64{DType::kF64, 2}, f16{DType::kF16, 2},
      row{DType::kF32, 1}, unknown;
  EXPECT_EQ(fault(product, {f32, f32}, {f32}, 1), "");
  EXPECT_EQ(fault(product, {f64, f64, row}, {f64}, 1), "");
  EXPECT_EQ(fault(product, {unknown, unknown}, {f64}, 1), "");
  EXPECT_EQ(fault(product, {f32, f64}, {f32}, 1),
            "argument b of routine f has the wrong dtype: f32, as a, not f64");
  EXPECT_EQ(fault(product, {f32, f32}, {f64}, 1),
            "argument c of routine f has the wrong dtype: f32, as a, not f64");
  EXPECT_EQ(fault(product, {f16, f16}, {f16}, 1),
            "argument a of routine f has the wrong dtype: f32 or f64, not f16");
  EXPECT_EQ(fault(product, {f32, row}, {f32}, 1),
            "argument b of routine f has the wrong rank: at least 2 dimensions, not 1 dimension");
  EXPECT_EQ(fault(product, {f32, f32, f32}, {f32}, 1),
            "argument bias of routine f has the wrong rank: 1 dimension, not 2 dimensions");
  EXPECT_EQ(fault(product, {f32}, {f32}, 1),
            "the call of routine f has the wrong number of inputs: 2 to 3 inputs, not 1 input");
  EXPECT_EQ(fault(product, {f32, f32}, {f32, f32}, 1),
            "the call of routine f has the wrong number of outputs: 1 output, not 2 outputs");
  EXPECT_EQ(fault(product, {f32, f32}, {f32}, 0),
            "the call of routine f has the wrong number of parameters: 1 parameter: scale, not 0 "
            "parameters");
  const RoutineSignature more = signature("x: any[] -> y: i8 | u8[_]; groups, ...");
  EXPECT_EQ(fault(more, {RoutineTensor{DType::kBool, 0}}, {RoutineTensor{DType::kU8, 1}}, 7), "");
  EXPECT_EQ(
      fault(more, {RoutineTensor{DType::kBool, 0}}, {RoutineTensor{DType::kU8, 1}}, 0),
      "the call of routine f has the wrong number of parameters: at least 1 parameter: groups, "
      "..., not 0 parameters");
}

TEST(RoutineSignature, ChecksDimensions) {
  const RoutineSignature product = signature(
      "a: f32[~batch, swap(ta, m, k)], b: f32[~batch, k, n] -> c: f32[*batch:2, m, n]; ta");
  EXPECT_EQ(shape_fault(product, {{2, 3}, {3, 4}}, {{2, 4}}, {0}), "");
  EXPECT_EQ(shape_fault(product, {{3, 2}, {3, 4}}, {{2, 4}}, {1}), "");
  EXPECT_EQ(shape_fault(product, {{7, 1, 2, 3}, {5, 3, 4}}, {{7, 5, 2, 4}}, {0}), "");
  EXPECT_EQ(shape_fault(product, {{2, 3}, {5, 4}}, {{2, 4}}, {0}),
            "argument b of routine f has another dimension 0: k = 3, as in a, not 5");
  EXPECT_EQ(shape_fault(product, {{3, 2}, {3, 4}}, {{3, 4}}, {1}),
            "argument c of routine f has another dimension 0: m = 2, as in a, not 3");
  EXPECT_EQ(shape_fault(product, {{2, 2, 3}, {3, 4}}, {{5, 2, 4}}, {0}),
            "argument a of routine f has another dimension 0: 1 or 5, as in c, not 2");
  EXPECT_EQ(shape_fault(product, {{2, 2, 3}, {3, 4}}, {{2, 4}}, {0}).substr(0, 38),
            "argument a of routine f has the wrong ");
  EXPECT_NE(shape_fault(product, {{2, 3}, {3, 4}}, {{1, 1, 1, 2, 4}}, {0}), "");

  const RoutineSignature norm =
      signature("x: f32[*rows, *columns], weight: f32[*columns] -> y: f32[*rows, *columns]");
  EXPECT_EQ(shape_fault(norm, {{2, 3, 4}, {3, 4}}, {{2, 3, 4}}), "");
  EXPECT_EQ(shape_fault(norm, {{2, 3, 4}, {}}, {{2, 3, 4}}), "");
  EXPECT_EQ(shape_fault(norm, {{2, 3, 4}, {3, 5}}, {{2, 3, 4}}),
            "argument weight of routine f has another dimension 1: 4, as in x, not 5");
  EXPECT_EQ(shape_fault(norm, {{2, 3, 4}, {4}}, {{2, 5, 4}}),
            "argument y of routine f has another dimension 1: 3, as in x, not 5");
  EXPECT_NE(shape_fault(norm, {{4}, {3, 4}}, {{4}}), "");

  const RoutineSignature fixed = signature("x: f32[3, _] -> y: f32[n, n]");
  EXPECT_EQ(shape_fault(fixed, {{3, 9}}, {{4, 4}}), "");
  EXPECT_EQ(shape_fault(fixed, {{4, 9}}, {{4, 4}}),
            "argument x of routine f has another dimension 0: 3, not 4");
  EXPECT_EQ(shape_fault(fixed, {{3, 9}}, {{4, 5}}),
            "argument y of routine f has another dimension 1: n = 4, as in y, not 5");
}

TEST(RoutineSignature, RefusesMalformedSignatures) {
  for (const char* text :
       {"", "x", "x: f32[n]", "x: f32[n -> y: f32[n]", "x: f33[n] -> y: f32[n]", "x f32[n] -> y",
        "x: f32[n]? , z: f32[n] -> y: f32[n]", "x: f32[n] -> y: f32[n]?", "-> y: f32[n] z",
        "x: f32[-1] -> y: f32[n]", "x: f32[swap(p, m)] -> y: f32[n]; p",
        "x: f32[swap(q, m, k)] -> y: f32[n]; p", "x: T[n] -> y: T[n]; ; T: f99",
        "x: T[n] -> y: T[n]; ; T: f32, T: f64", "x: f32[*a, *b] -> y: f32[*a]; ;;",
        "x: f32[99999999999999999999] -> y: f32[n]", "x: f32[*] -> y: f32[n]"}) {
    auto parsed = parse_routine_signature(text, "library l, routine f");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUser);
    expect_parts(parsed.error(), {"library l, routine f"});
  }
  // The dimensions cannot be split between a and b.
  auto parsed = parse_routine_signature("x: f32[*a, *b] -> y: f32[n]", "here");
  ASSERT_FALSE(parsed);
  expect_parts(parsed.error(), {"the dimensions of x"});
}

}  // namespace
}  // namespace tapml
