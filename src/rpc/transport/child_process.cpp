#include "rpc/transport/child_process.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/strings.h"
#include "io/host/child_environment.h"
#include "rpc/transport/error_relay.h"

namespace tapml::rpc {

namespace {

class CommandChannel final : public StreamChannel {
 public:
  CommandChannel(FileDescriptor socket, std::string peer, pid_t child,
                 std::unique_ptr<ErrorRelay> errors)
      : StreamChannel(std::move(socket), FileDescriptor(), std::move(peer)),
        child_(child),
        errors_(std::move(errors)) {}
  ~CommandChannel() override {
    close();  // the program reads the end of its input
    if (ended_within(std::chrono::seconds(2))) return;
    // A session's process may not send signals (confinement.h): the server ends what it started.
    if (::kill(child_, SIGTERM) != 0) return;
    if (ended_within(std::chrono::seconds(1))) return;
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

 private:
  bool ended_within(std::chrono::milliseconds time) const {
    const auto end = std::chrono::steady_clock::now() + time;
    while (true) {
      const pid_t done = ::waitpid(child_, nullptr, WNOHANG);
      if (done == child_ || (done < 0 && errno != EINTR)) return true;
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  pid_t child_;
  std::unique_ptr<ErrorRelay> errors_;
};

std::vector<std::string> split_command(const std::string& command) {
  std::vector<std::string> words;
  size_t at = 0;
  while ((at = command.find_first_not_of(" \t", at)) != std::string::npos) {
    const size_t end = std::min(command.find_first_of(" \t", at), command.size());
    words.push_back(command.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string start_hint(const std::string& program, int error) {
  constexpr const char* kEmulators = "Debian's package qemu-user-static has emulators";
  if (error == ENOEXEC) {
    return std::string("it is a program for another processor; ") + kEmulators +
           ": pipe:qemu-aarch64-static -L /usr/aarch64-linux-gnu " + program + " ...";
  }
  if (error != ENOENT) return "";
  return program.find("qemu-") != std::string::npos ? kEmulators
                                                    : "its path, or a program that PATH finds";
}

}  // namespace

Result<std::unique_ptr<Channel>> start_command(const std::string& command) noexcept {
  return start_program(split_command(command), "pipe:" + command);
}

Result<std::unique_ptr<Channel>> start_program(std::vector<std::string> arguments,
                                               const std::string& name) noexcept {
  if (arguments.empty()) return fail(user_error("no command to start", name));
  std::vector<char*> argv;
  for (std::string& word : arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  TAPML_ASSIGN(auto ends, make_socket_pair());
  FileDescriptor messages;
  TAPML_ASSIGN(auto errors, ErrorRelay::start(messages));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends.second.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends.second.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages.get(), STDERR_FILENO);
  // The program starts with the signals of a fresh process, even if this thread blocks some.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, broken_pipe;
  sigemptyset(&none);
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(),
                                   child_environment().data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(platform_error(PlatformFault::kAbsent,
                               "cannot start " + in_quotes(arguments[0]) + ": " + errno_text(error),
                               name, start_hint(arguments[0], error)));
  }
  return std::make_unique<CommandChannel>(std::move(ends.first), name, child, std::move(errors));
}

}  // namespace tapml::rpc
