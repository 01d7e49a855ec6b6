// Copies that transpose lanes and steps of a square: the elements are the same whether the square
// is recognized or not.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "interp/interpreter.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

// y[f, ...] from x in squares of `size`; `store` and `load` are index lists over i (outer), a and
// b.
std::string copy(int64_t size, const char* kinds, const char* store, const char* load,
                 const char* dtype = "f32") {
  std::string extent = std::to_string(size), type(dtype);
  std::string first = std::string(kinds).substr(0, std::string(kinds).find(' '));
  std::string second = std::string(kinds).substr(std::string(kinds).find(' ') + 1);
  return "prim def k(x: Buffer((40, 40), " + type + "), out y: Buffer((40, 40), " + type +
         ")) {\n  for i in parallel(40) {\n    for j in serial(40) {\n      y[i, j] = x[0, 0]\n" +
         "    }\n  }\n  for i in parallel(2) {\n    for a in " + first + "(" + extent +
         ") {\n      for b in " + second + "(" + extent + ") {\n        y[" + store + "] = x[" +
         load + "]\n      }\n    }\n  }\n}\n";
}

struct Square {
  int64_t size;
  const char *kinds, *store, *load, *dtype;
  bool recognized;
};

const std::vector<Square> kSquares = {
    {16, "vectorized unrolled", "b + 3, a + i * 16 + 1", "a + i * 16, b + 2", "f32", true},
    {8, "vectorized unrolled", "b, a + i * 8", "a + i * 8, b", "f64", true},
    {4, "vectorized unrolled", "b * 2, a + i * 4", "a * 3 + i, b", "i32", true},
    {2, "vectorized unrolled", "b, a + i * 2", "a + i * 2, b", "i16", true},
    {16, "vectorized unrolled", "b, a + i * 16", "a + i * 16, b", "bool", false},
    {12, "vectorized unrolled", "b, a + i * 12", "a + i * 12, b", "f32", false},
    {16, "serial unrolled", "b, a + i * 16", "a + i * 16, b", "f32", false},
    {16, "vectorized serial", "b, a + i * 16", "a + i * 16, b", "f32", false},
    {16, "vectorized unrolled", "b, a * 2 + i", "a + i * 16, b", "f32", false},
    {16, "vectorized unrolled", "b, a + i * 16", "b, a + i * 16", "f32", false},
    {16, "vectorized unrolled", "b + i * 16, a", "a, b * 2", "f32", false},
};

TEST(Transpose, SquaresAreRecognized) {
  for (const Square& square : kSquares) {
    Module module = text::parse(
        copy(square.size, square.kinds, square.store, square.load, square.dtype), "test");
    codegen::LoweredKernel lowered =
        codegen::lower_prim_func(*tir::as_prim_func(module.find("k")), "k");
    bool found = codegen::native_ir(lowered.launches, *target::find_description("cpu"))
                     .find("shufflevector") != std::string::npos;
    EXPECT_EQ(found, square.recognized)
        << square.size << " " << square.kinds << ": " << square.store << " = " << square.load;
  }
}

TEST(Transpose, MachineCodeAgreesWithTheInterpreter) {
  DeviceKernels device("cpu");
  std::vector<tir::PrimFuncRef> funcs;
  for (const Square& square : kSquares) {
    Module module = text::parse(
        copy(square.size, square.kinds, square.store, square.load, square.dtype), "test");
    funcs.push_back(std::make_shared<tir::PrimFunc>(*tir::as_prim_func(module.find("k"))));
    device.add(*funcs.back());
  }
  device.load();
  if (HasFatalFailure()) return;
  for (size_t k = 0; k < funcs.size(); ++k) {
    DType dtype = funcs[k]->params[0].buffer->dtype;
    HostTensor x = HostTensor::zeros(dtype, {40, 40}), y = HostTensor::zeros(dtype, {40, 40});
    for (int64_t i = 0; i < x.size(); ++i) {
      x.set_f64(
          i, dtype == DType::kBool ? static_cast<double>(i % 3 == 0) : static_cast<double>(i + 1));
    }
    std::vector<HostTensor> arguments = {x, y}, again = {x, y};
    device.run(static_cast<int32_t>(k), arguments, {});
    if (HasFatalFailure()) return;
    interp::run_prim_func(*funcs[k], again, {});
    int different = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      different += arguments[1].at_f64(i) != again[1].at_f64(i) ? 1 : 0;
    }
    EXPECT_EQ(different, 0) << kSquares[k].store << " = " << kSquares[k].load;
  }
}

}  // namespace
}  // namespace tapml::testing
