#include "app/isolation.h"

#include <atomic>
#include <csignal>

#include "app/platforms.h"
#include "app/standard_streams.h"
#include "device/watched/watched_device.h"
#include "ir/exceptions.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/child_process.h"
#include "rpc/transport/server.h"

namespace tapml::app {

namespace {

// Longest request of any kind. The parent ends kernels that take too long; this limit ends work
// that no client waits for.
constexpr std::chrono::hours kLongestRequest{1};

std::unique_ptr<runtime::Session> open_worker(const target::Target& target,
                                              const std::vector<std::string>& libraries,
                                              const IsolationOptions& isolation) {
  std::vector<std::string> command = isolation.worker;
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

void serve_kernels(const LibraryFiles& libraries) {
  // Belongs to the session's process, a copy of this one.
  static runtime::LaunchNote note;
  ::signal(SIGINT, SIG_IGN);  // the parent handles it
  rpc::ListenOptions listen;
  listen.sessions = 1;
  listen.call = kLongestRequest;
  listen.ends_with_parent = true;
  listen.server.limits.idle = kLongestRequest * 24;
  static const std::atomic<bool> kNever = false;
  const StandardStreams streams = take_standard_streams();
  const std::shared_ptr<device::OutputWatch> output = unwrap(device::OutputWatch::start());
  listen.launch_note = &note;
  listen.server.open_device = [&](const std::string& target) {
    return guard([&] {
      auto device = unwrap(open_served_device(target, libraries.load(), true));
      // Code runs in this process if its device accepts the host's machine code.
      const bool in_process = !device->info().cpu.empty();
      return device::watch_launches(std::move(device), {in_process, &note, output});
    });
  };
  unwrap(rpc::serve_descriptors(streams.in, streams.out, listen, kNever));
}

std::function<std::unique_ptr<runtime::Session>()> worker_opener(
    const target::Target& target, const LibraryFiles& libraries, const RemoteOptions& remote,
    const IsolationOptions& isolation) {
  return [target, libraries, remote, isolation]() -> std::unique_ptr<runtime::Session> {
    if (!has_own_process(target)) {
      auto session = open_worker(target, libraries.files, isolation);
      session->set_watcher(remote.watcher);
      return session;
    }
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
    result.info = result.session->info();
    return result;
  }
  // Opens the first session now: it reports missing platforms early, and a remote device describes
  // the code that it accepts.
  auto first = std::make_shared<std::unique_ptr<runtime::Session>>(
      has_own_process(target) ? open_session(target, {}, libraries.load(), remote)
                              : open_worker(target, libraries.files, isolation));
  (*first)->set_watcher(remote.watcher);
  result.info = (*first)->info();
  target::adopt_device(target, result.info);
  result.platform.target = target;
  result.platform.remote_target = !target.endpoint.empty();
  auto open = worker_opener(target, libraries, remote, isolation);
  result.platform.open = [first, open] {
    // A server ends idle sessions, and the work before the first use may take long.
    std::unique_ptr<runtime::Session> early = std::move(*first);
    if (!early || !early->synchronize(runtime::kDefaultStream)) early = open();
    return early;
  };
  result.platform.kernel_timeout =
      std::chrono::milliseconds(static_cast<int64_t>(isolation.kernel_seconds * 1e3));
  return result;
}

}  // namespace tapml::app
