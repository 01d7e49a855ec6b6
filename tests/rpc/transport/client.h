// A client of a ServerProcess: a session with kernels of a FaultyDevice.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "rpc/session/remote_session.h"
#include "rpc/transport/connect.h"
#include "support/expect_error.h"

namespace tapml::testing {

// Extra time that a typed error may take after its deadline.
constexpr std::chrono::milliseconds kSlack{1000};

inline Result<std::unique_ptr<rpc::RemoteSession>> open_session(const rpc::Endpoint& endpoint,
                                                                const std::string& token = "",
                                                                const rpc::TlsTrust& trust = {}) {
  TAPML_ASSIGN(
      auto channel,
      rpc::connect(endpoint, std::chrono::steady_clock::now() + std::chrono::seconds(10), trust));
  rpc::ConnectOptions options;
  options.target = "null";
  options.token = token;
  return rpc::RemoteSession::connect(std::move(channel), options);
}

struct Client {
  explicit Client(const rpc::Endpoint& endpoint, const std::string& token = "",
                  const rpc::TlsTrust& trust = {}) {
    auto opened = open_session(endpoint, token, trust);
    EXPECT_TRUE(opened) << opened.error().to_string();
    if (opened) session = std::move(*opened);
  }
  // Enqueues the kernel and waits for it.
  Status run(const std::string& entry, runtime::Deadline deadline = {}, int launches = 1) {
    if (!session) return fail(internal_error("no session"));
    const auto module = runtime::ModuleId(session->new_handle());
    const auto kernel = runtime::KernelId(session->new_handle());
    ModuleBlob blob;
    blob.platform = "null";
    blob.format = "none";
    blob.entries = {entry};
    TAPML_TRY(session->load_module(module, blob));
    TAPML_TRY(session->get_kernel(kernel, module, entry));
    runtime::LaunchRequest request;
    request.kernel = kernel;
    request.extent = 1;
    for (int i = 0; i < launches; ++i) {
      TAPML_TRY(session->launch(runtime::kDefaultStream, request));
    }
    return session->synchronize(runtime::kDefaultStream, deadline);
  }
  std::unique_ptr<rpc::RemoteSession> session;
};

template <class Value>
void expect_fault(const Result<Value>& result, PlatformFault fault,
                  const std::vector<std::string>& parts) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, fault) << result.error().to_string();
  expect_parts(result.error(), parts);
}

}  // namespace tapml::testing
