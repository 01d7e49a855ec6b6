// A tab of a headless browser (tab.mjs). Commands that fail throw.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "io/json.h"

namespace tapml::testing {

class BrowserTab {
 public:
  explicit BrowserTab(const std::string& address) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipes");
    }
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execlp("node", "node", TAPML_SOURCE_DIR "/tests/web/tab.mjs", address.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
    const Json ready = answer();
    if (const Json* error = ready.find("error")) problem_ = error->as_string();
  }
  ~BrowserTab() { end(); }
  BrowserTab(const BrowserTab&) = delete;

  // Why there is no browser; empty: there is one.
  const std::string& problem() const { return problem_; }

  // The value of a command.
  Json ask(const std::string& command) {
    const std::string line = command + "\n";
    if (::write(in_, line.data(), line.size()) != std::ssize(line)) {
      throw std::runtime_error("the browser's program has ended");
    }
    const Json reply = answer();
    if (const Json* value = reply.find("value")) return *value;
    throw std::runtime_error(command + ": " + reply.dump());
  }
  // The text of an element of the page.
  std::string text(const std::string& selector) {
    const Json value =
        ask("eval document.querySelector('" + selector + "')?.textContent.trim() ?? ''");
    return value.is_string() ? value.as_string() : "";
  }
  // Waits until the element's text has this part, twenty seconds at most. Returns what it has
  // instead, or nothing.
  std::string wait_for(const std::string& selector, const std::string& part) {
    std::string last;
    for (const auto until = Clock::now() + std::chrono::seconds(20); Clock::now() < until;) {
      last = text(selector);
      if (last.find(part) != std::string::npos) return "";
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return selector + " shows \"" + last + "\", not \"" + part + "\"";
  }
  void end() {
    if (process_ <= 0) return;
    ::close(in_);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
    ::close(out_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  Json answer() {
    std::string line;
    char c = 0;
    while (::read(out_, &c, 1) == 1 && c != '\n') line += c;
    const auto json = parse_json(line, "tab.mjs");
    if (json) return *json;
    return Json::object({{"error", Json::string("no answer: " + line)}});
  }

  pid_t process_ = 0;
  int in_ = -1, out_ = -1;
  std::string problem_;
};

}  // namespace tapml::testing
