#include "fuzz/campaign/line_channel.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/strings.h"
#include "io/host/child_environment.h"
#include "rpc/transport/crash_report.h"

namespace tapml::fuzz {

namespace {

// No document is nearly as long.
constexpr size_t kMostBytes = size_t{1} << 28;

Error lost() { return platform_error(PlatformFault::kLost, "the process has ended"); }

}  // namespace

Status LineChannel::send(const Json& document) noexcept {
  const std::string line = document.dump() + "\n";
  const int fd = out_.valid() ? out_.get() : in_.get();
  for (size_t sent = 0; sent < line.size();) {
    // A socket whose other end is closed raises no signal.
    ssize_t count = ::send(fd, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == ENOTSOCK) count = ::write(fd, line.data() + sent, line.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(lost());
    sent += static_cast<size_t>(count);
  }
  return {};
}

Result<Json> LineChannel::receive(runtime::Deadline deadline) noexcept {
  while (true) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return parse_json(line, "a line");
    }
    if (buffer_.size() > kMostBytes) {
      return fail(platform_error(PlatformFault::kProtocol, "a line is too long"));
    }
    switch (rpc::wait_ready(in_.get(), false, -1, deadline)) {
      case rpc::Ready::kTimeout:
      case rpc::Ready::kWoken:
        return fail(platform_error(PlatformFault::kTimeout, "no answer in time"));
      case rpc::Ready::kYes:
        break;
    }
    char bytes[1 << 16];
    const ssize_t count = ::read(in_.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(lost());
    buffer_.append(bytes, static_cast<size_t>(count));
  }
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(
    std::vector<std::string> command) noexcept {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  TAPML_ASSIGN(auto ends, rpc::make_socket_pair());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends.second.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends.second.get(), STDOUT_FILENO);
  pid_t child = -1;
  const int error =
      ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), child_environment().data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(platform_error(PlatformFault::kAbsent, "cannot start " + in_quotes(command[0]) +
                                                           ": " + rpc::errno_text(error)));
  }
  return std::unique_ptr<WorkerProcess>(
      new WorkerProcess(child, LineChannel(std::move(ends.first), rpc::FileDescriptor())));
}

WorkerProcess::~WorkerProcess() { end(); }

std::string WorkerProcess::end() noexcept {
  if (child_ <= 0) return ended_;
  int status = 0;
  // One whose connection is closed is about to end by itself.
  pid_t done = 0;
  for (int i = 0; i < 20 && done == 0; ++i) {
    done = ::waitpid(child_, &status, WNOHANG);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (done == 0) {
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  child_ = -1;
  ended_ = WIFSIGNALED(status) ? rpc::signal_name(WTERMSIG(status))
                               : "exit code " + std::to_string(WEXITSTATUS(status));
  return ended_;
}

}  // namespace tapml::fuzz
