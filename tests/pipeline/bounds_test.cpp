// Bounds of symbolic variables in a module's metadata hold at run time.
#include <gtest/gtest.h>

#include "pipeline/compile.h"
#include "runtime/vm.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "text/parser.h"

namespace tapml {
namespace {

TEST(Bounds, OfTheModuleAreCheckedWhereAFunctionIsEntered) {
  Module module = text::parse(R"(module
def main(x: Tensor((n, 2), f32)) -> Tensor((n, 2), f32) {
  y: Tensor((n, 2), f32) = exp(x)
  return y
})",
                              "m.txt");
  module.attrs["bound.n"] = int64_t{4};
  auto session = testing::open_session("cpu");
  auto vm = unwrap(runtime::VirtualMachine::create(
      *session, pipeline::compile(module, target::parse_target("cpu"))));
  auto call = [&](int64_t n) {
    HostTensor x = HostTensor::zeros(DType::kF32, {n, 2});
    std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, x))};
    return vm->call("main", args);
  };
  EXPECT_TRUE(call(0));
  EXPECT_TRUE(call(4));
  auto above = call(5);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().kind, ErrorKind::kUser);
  testing::expect_parts(above.error(),
                        {"n is 5, above its bound of 4 (n is dimension 0 of parameter x)",
                         "function main", "n <= 4"});
  EXPECT_TRUE(call(3));
}

}  // namespace
}  // namespace tapml
