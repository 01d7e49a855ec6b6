#include "io/host/child_output.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace tapml {

namespace {

constexpr int kPollMilliseconds = 50;

// Whether the child has ended; `flags` as of waitpid().
bool has_ended(pid_t child, int flags, int& status) {
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &status, flags);
  } while (ended < 0 && errno == EINTR);
  return ended != 0;
}

}  // namespace

ChildEnd wait_for_child(pid_t child, int output, std::chrono::milliseconds longest,
                        const std::function<bool()>& cancelled, size_t most_output) {
  ChildEnd end;
  int status = 0;
  bool open = true;
  const auto limit = std::chrono::steady_clock::now() + longest;
  for (;;) {
    // A child may close its output long before it ends.
    if (!open && has_ended(child, WNOHANG, status)) break;
    pollfd wanted{open ? output : -1, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, open ? kPollMilliseconds : 1);
    if (ready > 0) {
      std::array<char, 4096> part;
      const ssize_t size = ::read(output, part.data(), part.size());
      if (size < 0 && errno == EINTR) continue;
      open = size > 0;
      if (open) end.output.append(part.data(), static_cast<size_t>(size));
      if (end.output.size() / 2 > most_output) {
        end.output.erase(0, end.output.size() - most_output);
      }
    }
    const bool stop = cancelled && cancelled();
    if (!stop && std::chrono::steady_clock::now() < limit) continue;
    end.reason = stop ? ChildEnd::Reason::kCancelled : ChildEnd::Reason::kTimeout;
    ::kill(child, SIGKILL);
    has_ended(child, 0, status);
    break;
  }
  if (end.output.size() > most_output) end.output.erase(0, end.output.size() - most_output);
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace tapml
