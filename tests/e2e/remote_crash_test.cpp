// A kernel that writes to unmapped memory, on the cpu of `tapml rpc serve`.
#include <gtest/gtest.h>

#include "pipeline/compile.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/connect.h"
#include "runtime/tensor.h"
#include "support/background_server.h"
#include "support/expect_error.h"
#include "support/scatter_program.h"
#include "target/target.h"
#include "text/parser.h"

namespace tapml {
namespace {

struct Client {
  std::unique_ptr<rpc::RemoteSession> session;
  std::unique_ptr<runtime::VirtualMachine> vm;

  Client(const std::string& endpoint, std::shared_ptr<const Executable> executable) {
    rpc::ConnectOptions options;
    options.target = "cpu";
    session = unwrap(
        rpc::RemoteSession::connect(unwrap(rpc::connect(*rpc::parse_endpoint(endpoint))), options));
    vm = unwrap(session->open_vm(std::move(executable)));
  }
  Result<HostTensor> scatter(std::vector<int64_t> at) {
    const auto count = static_cast<int64_t>(at.size());
    std::vector<float> x(at.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) + 0.5f;
    TAPML_ASSIGN(auto values,
                 runtime::upload(*session, HostTensor::from<float>(DType::kF32, {count}, x)));
    TAPML_ASSIGN(auto endpoints,
                 runtime::upload(*session, HostTensor::from<int64_t>(DType::kI64, {count}, at)));
    const std::vector<runtime::Value> args = {runtime::Value(values), runtime::Value(endpoints)};
    TAPML_ASSIGN(runtime::Value result, vm->call("main", args));
    return runtime::download(*result.tensor());
  }
};

TEST(RemoteCrash, AKernelThatWritesToAnUnmappedPageTakesItsSessionOnly) {
  auto executable = pipeline::compile(text::parse(testing::kScatterProgram, "scatter"),
                                      target::parse_target("cpu"));
  testing::TempFolder folder;
  testing::BackgroundServer server({"--listen", "unix:" + folder / "server"});
  Client other(server.endpoint(), executable), wild(server.endpoint(), executable);
  auto fine = wild.scatter({2, 0, 1});
  ASSERT_TRUE(fine) << fine.error().to_string();
  EXPECT_EQ(fine->at_f64(0), 1.5);
  EXPECT_EQ(fine->at_f64(2), 0.5);

  const auto start = std::chrono::steady_clock::now();
  auto crash = wild.scatter({0, int64_t{1} << 44, 1});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  ASSERT_FALSE(crash);
  EXPECT_EQ(crash.error().fault, PlatformFault::kCrash);
  testing::expect_parts(crash.error(), {"crashed: SIGSEGV", "generated code"});

  auto still = other.scatter({1, 0});
  ASSERT_TRUE(still) << still.error().to_string();
  EXPECT_EQ(still->at_f64(0), 1.5);
  EXPECT_TRUE(Client(server.endpoint(), executable).scatter({0}));
  EXPECT_EQ(server.end(), 0) << server.log();
}

}  // namespace
}  // namespace tapml
