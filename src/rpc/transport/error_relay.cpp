#include "rpc/transport/error_relay.h"

#include <poll.h>

#include <cerrno>
#include <csignal>
#include <exception>

#include "base/host/progress.h"
#include "base/printable.h"

namespace tapml::rpc {

namespace {

// A longer line is shown in parts.
constexpr size_t kLongestLine = 4096;

}  // namespace

Result<std::unique_ptr<ErrorRelay>> ErrorRelay::start(FileDescriptor& to_program) noexcept {
  TAPML_ASSIGN(PipePair lines, make_pipe());
  TAPML_ASSIGN(PipePair stop, make_pipe());
  to_program = std::move(lines.write);
  // Signals are for the program's other threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::unique_ptr<ErrorRelay> relay;
  try {
    relay.reset(new ErrorRelay(std::move(lines), std::move(stop)));
  } catch (const std::exception& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return fail(platform_error(PlatformFault::kLimit,
                               std::string("no thread for a program's messages: ") + error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return relay;
}

ErrorRelay::~ErrorRelay() {
  stop_.write.reset();
  thread_.join();
}

void ErrorRelay::run() {
  char part[kLongestLine];
  bool stops = false;
  while (true) {
    pollfd waiting[] = {{lines_.get(), POLLIN, 0}, {stop_.read.get(), POLLIN, 0}};
    if (::poll(waiting, 2, stops ? 0 : -1) < 0 && errno != EINTR) break;
    if (waiting[0].revents != 0) {
      const ssize_t count = ::read(lines_.get(), part, sizeof part);
      if (count == 0 || (count < 0 && errno != EINTR)) break;
      if (count > 0) show({part, static_cast<size_t>(count)});
    } else if (stops) {
      break;
    }
    // One more round for what has arrived by now.
    if (stops && waiting[0].revents != 0) break;
    stops = stops || waiting[1].revents != 0;
  }
  if (!line_.empty()) Progress::line_to_stderr(printable_line(line_));
}

void ErrorRelay::show(std::string_view text) {
  line_ += text;
  size_t begin = 0;
  for (size_t end; (end = line_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    Progress::line_to_stderr(printable_line(line_.substr(begin, end - begin)));
  }
  line_.erase(0, begin);
  if (line_.size() < kLongestLine) return;
  Progress::line_to_stderr(printable_line(line_));
  line_.clear();
}

}  // namespace tapml::rpc
