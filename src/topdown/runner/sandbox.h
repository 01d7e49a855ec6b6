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
// Throws (compiler room); for one thread.
class Sandbox {
 public:
  // `cancelled`, asked during long waits: true ends them with kCancelled.
  explicit Sandbox(Platform platform, std::function<bool()> cancelled = {});
  ~Sandbox();

  const target::Target& target() const { return platform_.target; }
  bool isolated() const { return static_cast<bool>(platform_.open); }
  runtime::Session& session();
  // The session that is open now; null: none.
  runtime::Session* current() const { return isolated() ? session_.get() : platform_.session; }
  // The kernels that runner() has from now on, in later sessions, too. Refreshes.
  void load(std::shared_ptr<const Executable> executable);
  // Restarts where the session was lost since it was used: servers end those that are idle.
  void refresh();
  runtime::KernelRunner& runner();
  // The same, for `kernel` alone.
  runtime::KernelRunner& runner_of(const std::string& kernel);
  // Whether nothing but `kernel` has run in the process so far.
  bool is_alone(const std::string& kernel) const { return !shared_ && alone_ == kernel; }

  // Kernels that were found right with what is loaded.
  void add_right(const std::string& kernel) { right_.insert(kernel); }
  const std::set<std::string>& right() const { return right_; }

  // Whether `error` is what a process leaves that crashed or hangs and that nothing else needs.
  bool contains(const Error& error) const;
  // Whether it says that the session is gone by something else than its kernels.
  bool lost(const Error& error) const;
  // Ends the session; the next use opens another one. Nothing may refer to it any more but what
  // `before_end` lets go of, which is called first.
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
  bool shared_ = false;  // it is not the only one
  std::set<std::string> right_;
};

}  // namespace tapml::topdown
