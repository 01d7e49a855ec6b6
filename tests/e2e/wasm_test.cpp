// WebAssembly under Node.js: the commands on the demo model, and failing sessions.
#include <gtest/gtest.h>

#include "codegen/llvm/native.h"
#include "demo_run.h"
#include "pipeline/compile.h"
#include "runtime/tensor.h"
#include "support/expect_error.h"
#include "support/scatter_program.h"
#include "support/wasm_session.h"
#include "target/target.h"
#include "text/parser.h"

namespace tapml {
namespace {

using testing::generate;
using testing::integers;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;

class Wasm : public ::testing::Test {
 protected:
  void SetUp() override {
    auto session = testing::open_wasm_session();
    if (!session && session.error().fault == PlatformFault::kAbsent) {
      GTEST_SKIP() << session.error().to_string();
    }
    ASSERT_TRUE(session) << session.error().to_string();
    session_ = std::move(*session);
  }
  std::unique_ptr<runtime::Session> session_;
};

TEST_F(Wasm, TheModelGivesTheSameTokens) {
  ProgramResult cpu = generate("cpu");
  ASSERT_EQ(cpu.exit_code, 0) << cpu.all();
  for (const std::string& target : {std::string("wasm"), "wasm@pipe:node " + testing::kWasmHost}) {
    ProgramResult wasm = generate(target);
    ASSERT_EQ(wasm.exit_code, 0) << wasm.all();
    EXPECT_EQ(wasm.err, "");
    EXPECT_EQ(integers(wasm.json().find("tokens")).size(), 24U);
    EXPECT_EQ(integers(wasm.json().find("tokens")), integers(cpu.json().find("tokens")));
  }
}

TEST_F(Wasm, TheVirtualMachineRunsRemotely) {
  testing::TempFolder folder;
  const std::string file = folder / "trace.json";
  ProgramResult ran = run_program({"run", kDemoModel, "--target", "wasm", "--prompt",
                                   "In the beginning", "--max-tokens", "4", "--trace", file});
  ASSERT_EQ(ran.exit_code, 0) << ran.all();
  auto trace = parse_json(testing::read_bytes(file), file);
  ASSERT_TRUE(trace) << trace.error().to_string();
  int calls = 0;
  for (const Json& event : trace->find("traceEvents")->items()) {
    const Json* name = event.find("name");
    calls += name && name->as_string().starts_with("call ");
  }
  EXPECT_GE(calls, 4) << "a step of the model is one request";
}

TEST_F(Wasm, CarvedOnCpuAndReplayed) {
  testing::TempFolder folder;
  const std::string suite = folder / "suite";
  ProgramResult carved = run_program({"carve", kDemoModel, "--target", "cpu", "--prompt",
                                      "In the beginning", "--max-tokens", "2", "-o", suite});
  ASSERT_EQ(carved.exit_code, 0) << carved.all();
  ProgramResult replayed = run_program({"replay", suite, "--target", "wasm", "--json"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.all();
  EXPECT_TRUE(replayed.json().find("passed")->as_bool());
}

TEST_F(Wasm, ExecutablesAreFilesAsOnOtherPlatforms) {
  testing::TempFolder folder;
  const std::string file = folder / "demo.tapml";
  ProgramResult compiled = run_program({"compile", kDemoModel, "--target", "wasm", "-o", file});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.all();
  ProgramResult ran =
      run_program({"run", file, "--prompt", "In the beginning", "--max-tokens", "4", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.all();
  EXPECT_EQ(integers(ran.json().find("tokens")).size(), 4U);
  ProgramResult profiled =
      run_program({"profile", kDemoModel, "--target", "wasm", "--max-tokens", "2", "--json"});
  EXPECT_EQ(profiled.exit_code, 0) << profiled.all();
}

TEST_F(Wasm, NamesWhatIsMissing) {
  testing::TempFolder folder;
  ProgramOptions without;
  without.environment["TAPML_NODE"] = folder / "node";
  testing::expect_failure({"run", kDemoModel, "--target", "wasm", "--prompt", "x"}, 4,
                          {"cannot start", "install Node.js"}, without);
  ProgramResult devices = run_program({"devices"}, without);
  EXPECT_EQ(devices.exit_code, 0) << devices.all();
  EXPECT_NE(devices.out.find("wasm: unavailable"), std::string::npos) << devices.out;
  EXPECT_NE(devices.out.find("Debian package nodejs"), std::string::npos) << devices.out;
  without.environment = {{"TAPML_WASM", folder.path()}};
  testing::expect_failure({"run", kDemoModel, "--target", "wasm", "--prompt", "x"}, 4,
                          {"TAPML_WASM=", "make wasm"}, without);
  testing::expect_failure(
      {"run", kDemoModel, "--target", "cpu@pipe:node " + testing::kWasmHost, "--prompt", "x"}, 4,
      {"this program serves only the devices wasm and webgpu"});
}

TEST_F(Wasm, TheWorkerReportsItsStatus) {
  ProgramResult status = run_program({"rpc", "status", "pipe:node " + testing::kWasmHost});
  EXPECT_EQ(status.exit_code, 0) << status.all();
  for (const char* part : {"tapml 0.1.0 at pipe:node", "wasm: WebAssembly of Node.js"}) {
    EXPECT_NE(status.out.find(part), std::string::npos) << part << "\n" << status.all();
  }
}

Result<HostTensor> scatter(runtime::Session& session, std::vector<int64_t> at) {
  static const auto kExecutable = pipeline::compile(
      text::parse(testing::kScatterProgram, "scatter"), target::parse_target("wasm"));
  TAPML_ASSIGN(auto vm, session.open_vm(kExecutable));
  const auto count = static_cast<int64_t>(at.size());
  std::vector<float> x(at.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) + 0.5f;
  TAPML_ASSIGN(auto values,
               runtime::upload(session, HostTensor::from<float>(DType::kF32, {count}, x)));
  TAPML_ASSIGN(auto endpoints,
               runtime::upload(session, HostTensor::from<int64_t>(DType::kI64, {count}, at)));
  const std::vector<runtime::Value> args = {runtime::Value(values), runtime::Value(endpoints)};
  TAPML_ASSIGN(runtime::Value result, vm->call("main", args));
  return runtime::download(*result.tensor());
}

TEST_F(Wasm, AnOutOfBoundsWriteIsReportedWithItsLocation) {
  auto fine = scatter(*session_, {2, 0, 1});
  ASSERT_TRUE(fine) << fine.error().to_string();
  EXPECT_EQ(fine->at_f64(0), 1.5);
  auto crash = scatter(*session_, {0, int64_t{1} << 29, 1});
  ASSERT_FALSE(crash);
  EXPECT_EQ(crash.error().fault, PlatformFault::kCrash);
  testing::expect_parts(crash.error(), {"crashed", "memory access out of bounds", "scatter",
                                        "a new session can be opened"});
  // The session stays lost, and another one works.
  EXPECT_FALSE(session_->synchronize(runtime::kDefaultStream));
  auto again = testing::open_wasm_session();
  ASSERT_TRUE(again);
  EXPECT_TRUE(scatter(**again, {1, 0}));
}

TEST_F(Wasm, MemoryEndsAtFourGiB) {
  constexpr int64_t kMost = (int64_t{1} << 31) - (int64_t{1} << 16);
  EXPECT_EQ(session_->info().limits.max_allocation_bytes, kMost);
  auto allocate = [&](int64_t bytes) {
    return session_->allocate(runtime::BufferId{session_->new_handle()}, bytes);
  };
  Status beyond = allocate(kMost + 1);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().fault, PlatformFault::kLimit);
  ASSERT_TRUE(allocate(kMost));
  Status full = allocate(kMost);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().fault, PlatformFault::kOutOfMemory);
  testing::expect_parts(full.error(), {"no memory for 2147418112 bytes", "4 GiB"});
  EXPECT_TRUE(scatter(*session_, {1, 0})) << "the session continues";
}

TEST_F(Wasm, RefusesInvalidModules) {
  ModuleBlob blob;
  blob.platform = "wasm";
  blob.format = codegen::kWasmFormat;
  blob.entries = {"f"};
  auto load = [&] {
    return session_->load_module(runtime::ModuleId{session_->new_handle()}, blob);
  };
  Status refused = load();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInternal);
  testing::expect_parts(refused.error(), {"does not compile"});
  for (int byte : {0, 0x61, 0x73, 0x6d, 1, 0, 0, 0})
    blob.bytes.push_back(static_cast<std::byte>(byte));
  refused = load();
  ASSERT_FALSE(refused);
  testing::expect_parts(refused.error(), {"no section \"dylink.0\""});
  blob.format = "elf-archive";
  refused = load();
  ASSERT_FALSE(refused);
  testing::expect_parts(refused.error(), {"takes WebAssembly modules"});
  EXPECT_TRUE(scatter(*session_, {1, 0}));
}

}  // namespace
}  // namespace tapml
