// Bounds of symbolic variables in a module's metadata are enforced at run time.
#include <gtest/gtest.h>

#include "exec/executable_file.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
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
  module.facts.bounds["n"] = 4;
  auto session = testing::open_session("cpu");
  auto vm = unwrap(runtime::LocalVirtualMachine::create(
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

// The file contains everything that the messages need.
TEST(Bounds, OfAnExecutableFromAFileGiveTheSameErrors) {
  Module module = text::parse(R"(module {bound.n: 4}
def main(x: Tensor((n + 1, k), f32), y: Tensor((k,), f32)) -> Tensor((n + 1, k), f32) {
  z: Tensor((n + 1, k), f32) = add(x, y)
  return z
})",
                              "m.txt");
  const target::Target target = target::parse_target("null");
  auto compiled = pipeline::compile(module, target);
  const std::vector<std::byte> bytes =
      unwrap(write_executable(ExecutableFile{.executable = *compiled}));
  auto session = testing::open_session("null");
  auto read = std::make_shared<const Executable>(
      unwrap(read_executable(bytes, nullptr, "m.tapml")).executable);
  for (const auto& executable : {compiled, std::shared_ptr<const Executable>(read)}) {
    auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
    auto call = [&](int64_t n, int64_t k) {
      std::vector<runtime::Value> args;
      for (const Shape& shape : {Shape{n + 1, 3}, Shape{k}}) {
        args.emplace_back(unwrap(runtime::upload(*session, HostTensor::zeros(DType::kF32, shape))));
      }
      return vm->call("main", args);
    };
    EXPECT_TRUE(call(4, 3));
    auto above = call(5, 3);
    ASSERT_FALSE(above);
    EXPECT_EQ(above.error().message,
              "n is 5, above its bound of 4 (n + 1 is dimension 0 of parameter x)");
    auto wrong = call(4, 2);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().message, "dimension 0 of parameter y of main is 2, not k = 3");
    EXPECT_EQ(wrong.error().expected, "k = 3 (k is dimension 1 of parameter x)");
  }
}

}  // namespace
}  // namespace tapml
