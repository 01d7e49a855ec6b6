#include "io/host/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/strings.h"
#include "io/host/child_environment.h"
#include "io/host/child_output.h"
#include "io/host/descriptor.h"

namespace tapml {

Result<CommandResult> run_command(std::vector<std::string> arguments,
                                  std::chrono::milliseconds longest,
                                  const std::function<bool()>& cancelled) noexcept {
  if (arguments.empty()) return fail(internal_error("no command to run"));
  std::vector<char*> argv;
  for (std::string& word : arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(platform_error(PlatformFault::kLimit,
                               std::string("no pipe: ") + std::strerror(errno), arguments[0]));
  }
  Descriptor read_end(ends[0]), write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(),
                                   child_environment().data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  write_end.close();
  if (error != 0) {
    return fail(platform_error(
        PlatformFault::kAbsent,
        "cannot start " + in_quotes(arguments[0]) + ": " + std::strerror(error), arguments[0]));
  }
  ChildEnd end = wait_for_child(child, read_end.get(), longest, cancelled);
  switch (end.reason) {
    case ChildEnd::Reason::kExited:
      break;
    case ChildEnd::Reason::kCancelled:
      return fail(platform_error(PlatformFault::kCancelled, "interrupted"));
    case ChildEnd::Reason::kTimeout:
      return fail(platform_error(
          PlatformFault::kTimeout,
          arguments[0] + " did not end within " + std::to_string(longest.count() / 1000) + " s"));
  }
  return CommandResult{end.exit_code, std::move(end.output)};
}

}  // namespace tapml
