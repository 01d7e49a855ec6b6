// Where kernels under test run: a session in a process of its own, which they may crash or hang.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "exec/executable.h"
#include "runtime/call_point.h"
#include "topdown/runner/platform.h"

namespace tapml::topdown {

// The sessions of a platform under test, one after the other, with the kernels that they run.
// Throws CompilerException; for one thread.
class Sandbox {
 public:
  // `cancelled` is polled during long waits; if it returns true, they end with kCancelled.
  explicit Sandbox(Platform platform, std::function<bool()> cancelled = {});
  ~Sandbox();

  const target::Target& target() const { return platform_.target; }
  bool isolated() const { return static_cast<bool>(platform_.open); }
  runtime::Session& session();
  // The current session; null: none.
  runtime::Session* current() const { return isolated() ? session_.get() : platform_.session; }
  // Sets the kernels of runner() from now on, also in later sessions. Refreshes.
  void load(std::shared_ptr<const Executable> executable);
  // Restarts if the session was lost since its last use: servers end idle sessions.
  void refresh();
  runtime::KernelRunner& runner();
  // The same, for `kernel` alone.
  runtime::KernelRunner& runner_of(const std::string& kernel);
  // Whether only `kernel` has run in the process so far.
  bool is_alone(const std::string& kernel) const { return !shared_ && alone_ == kernel; }

  // Kernels that were found right, with the loaded executable.
  void add_right(const std::string& kernel) { right_.insert(kernel); }
  const std::set<std::string>& right() const { return right_; }

  // Whether `error` comes from a process that crashed or hangs and that nothing else needs.
  bool contains(const Error& error) const;
  // Whether the session was lost for a reason other than its kernels.
  bool lost(const Error& error) const;
  // Ends the session; the next use opens another one. Calls `before_end` first, after which nothing
  // may refer to the session.
  void restart();
  void set_before_end(std::function<void(runtime::Session&)> before_end) {
    before_end_ = std::move(before_end);
  }
  int64_t restarts() const { return restarts_; }

 private:
  Platform platform_;
  std::function<bool()> cancelled_;
  std::function<void(runtime::Session&)> before_end_;
  std::unique_ptr<runtime::Session> session_;  // of a process of its own
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<runtime::KernelRunner> runner_;
  int64_t restarts_ = 0;
  std::string alone_;    // the only kernel that has run in the process; empty: none has
  bool shared_ = false;  // other kernels have run, too
  std::set<std::string> right_;
};

}  // namespace tapml::topdown
