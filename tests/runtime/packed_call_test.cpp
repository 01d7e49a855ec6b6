// Calls of host functions pass through the call point, so observers see them.
#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "runtime/local_virtual_machine.h"
#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::Value;
using Op = Opcode;

class Events final : public runtime::Observer {
 public:
  bool wants(const runtime::CallSite& site, int64_t) noexcept override {
    log.push_back("kernel " + site.kernel->name);
    return false;
  }
  Status before(const runtime::KernelCall&) noexcept override { return {}; }
  Status after(const runtime::KernelCall&) noexcept override { return {}; }
  void packed(const runtime::PackedCall& call) noexcept override {
    log.push_back("packed " + call.name + " in " + call.function + " after " +
                  std::to_string(call.sequence) + ": " + std::to_string(call.args.size()) + ", " +
                  std::to_string(call.args[0].prim()->value));
  }
  std::vector<std::string> log;
};

TEST(PackedCalls, AreObserved) {
  VmFunction main;
  main.name = "main";
  main.params = {"k"};
  main.registers = 2;
  main.code = {{Op::kCallPacked, 1, 0, 0, {0}}, {Op::kReturn, 1}};
  Executable program = kernels_only(native_blob());
  program.packed = {"next"};
  program.functions.push_back(std::move(main));
  TestSession session;
  runtime::HostFunctions functions;
  functions["next"] = [](runtime::Session&, std::span<const Value> args) -> Result<Value> {
    const runtime::Prim* prim = args[0].prim();
    if (prim->value < 0) return fail(user_error("no number follows"));
    return Value(runtime::Prim{DType::kI64, prim->value + 1});
  };
  auto vm = runtime::LocalVirtualMachine::create(*session, share(std::move(program)),
                                                 std::move(functions));
  ASSERT_TRUE(vm) << vm.error().to_string();
  Events events;
  (*vm)->call_point().set_observer(&events);
  auto call = [&](int64_t k) {
    return (*vm)->call("main", std::vector<Value>{runtime::Prim{DType::kI64, k}});
  };
  auto result = call(4);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->prim()->value, 5);
  EXPECT_EQ(events.log, std::vector<std::string>{"packed next in main after 0: 1, 4"});
  auto wrong = call(-1);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "no number follows");
  EXPECT_EQ(wrong.error().where.substr(0, 13), "extern \"next\"");
}

}  // namespace
}  // namespace tapml::test
