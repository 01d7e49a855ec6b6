#include "cli/isolation.h"

#include <CLI/CLI.hpp>

#include "app/platforms.h"
#include "ir/exceptions.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/child_process.h"

namespace tapml::cli {

namespace {

// This very program, wherever its file has gone.
constexpr const char* kOwnProgram = "/proc/self/exe";

std::unique_ptr<runtime::Session> open_worker(const target::Target& target,
                                              const std::vector<std::string>& libraries) {
  std::vector<std::string> command = {kOwnProgram, "kernel-worker"};
  for (const std::string& file : libraries) {
    command.emplace_back("--library");
    command.push_back(file);
  }
  auto channel =
      unwrap(rpc::start_program(std::move(command), "the process of the kernel under test"));
  rpc::ConnectOptions connect;
  connect.target = target.text;
  return unwrap(rpc::RemoteSession::connect(std::move(channel), connect));
}

}  // namespace

void IsolationOptions::add_to(CLI::App& command) {
  command.add_flag("--in-process", in_process,
                   "Kernels under test run in this process, which ends when one crashes");
  command
      .add_option("--kernel-timeout", kernel_seconds,
                  "Seconds that a kernel call may take in its own process")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
}

std::function<std::unique_ptr<runtime::Session>()> worker_opener(const target::Target& target,
                                                                 const LibraryFiles& libraries,
                                                                 const RemoteOptions& remote) {
  return [target, libraries, remote]() -> std::unique_ptr<runtime::Session> {
    if (!has_own_process(target)) return open_worker(target, libraries.files);
    target::Target same = target;
    return open_session(same, {}, libraries.load(), remote);
  };
}

PlatformUnderTest open_under_test(target::Target& target, const LibraryFiles& libraries,
                                  const RemoteOptions& remote, const IsolationOptions& isolation) {
  PlatformUnderTest result;
  if (isolation.in_process) {
    result.session = open_session(target, {}, libraries.load(), remote);
    result.platform.target = target;
    result.platform.session = result.session.get();
    return result;
  }
  // What is not here shows before anything else is done, and a place says what code it takes.
  auto first = std::make_shared<std::unique_ptr<runtime::Session>>(
      has_own_process(target) ? open_session(target, {}, libraries.load(), remote)
                              : open_worker(target, libraries.files));
  target::adopt_processor(target, (*first)->info());
  result.platform.target = target;
  auto open = worker_opener(target, libraries, remote);
  result.platform.open = [first, open] { return *first ? std::move(*first) : open(); };
  result.platform.kernel_timeout =
      std::chrono::milliseconds(static_cast<int64_t>(isolation.kernel_seconds * 1e3));
  return result;
}

}  // namespace tapml::cli
