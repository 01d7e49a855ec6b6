#include "cli/line_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/host/interrupt.h"
#include "base/host/terminal.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

constexpr size_t kMostLineBytes = size_t{16} << 20;

void show(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

LineInput::LineInput() : is_terminal_(tapml::is_terminal(STDIN_FILENO)) {}

std::optional<std::string> LineInput::read(const std::string& prompt) {
  std::string text;
  for (std::string now = prompt;; now = prompt.empty() ? "" : ". ") {
    auto line = read_line(now);
    if (!line) return text.empty() ? std::nullopt : std::optional(std::move(text));
    if (line->ends_with('\r')) line->pop_back();
    const bool goes_on = line->ends_with('\\');
    if (goes_on) line->pop_back();
    text += *line;
    if (!goes_on) return text;
    text += '\n';
  }
}

std::optional<std::string> LineInput::read_line(const std::string& prompt) {
  show(prompt);
  while (true) {
    const size_t end = pending_.find('\n');
    if (end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    if (ended_) {
      if (pending_.empty()) return std::nullopt;
      return std::exchange(pending_, {});
    }
    // A signal ends the wait, but not a read.
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, -1);
    if (interrupted()) {
      if (!is_terminal_) unwrap(check_interrupted());
      clear_interrupt();
      install_interrupt_handler();
      pending_.clear();
      show("\n(Ctrl-D or /quit ends the chat)\n" + prompt);
      continue;
    }
    if (ready < 0 && errno != EINTR) throw_user("the standard input cannot be read", "chat");
    if (ready <= 0) continue;
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      ended_ = true;
      if (!prompt.empty()) show("\n");
      continue;
    }
    pending_.append(buffer.data(), static_cast<size_t>(count));
    if (pending_.size() > kMostLineBytes) {
      throw_user("a line of the input is too long", "chat",
                 std::to_string(kMostLineBytes) + " bytes", "more");
    }
  }
}

}  // namespace tapml::cli
