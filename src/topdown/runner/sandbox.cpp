#include "topdown/runner/sandbox.h"

#include "ir/exceptions.h"
#include "topdown/runner/deadline_session.h"

namespace tapml::topdown {

Sandbox::Sandbox(Platform platform, std::function<bool()> cancelled)
    : platform_(std::move(platform)), cancelled_(std::move(cancelled)) {}

Sandbox::~Sandbox() { runner_.reset(); }

runtime::Session& Sandbox::session() {
  if (!isolated()) return *platform_.session;
  if (!session_) {
    session_ =
        std::make_unique<DeadlineSession>(platform_.open(), platform_.kernel_timeout, cancelled_);
  }
  return *session_;
}

void Sandbox::load(std::shared_ptr<const Executable> executable) {
  runner_.reset();
  right_.clear();
  executable_ = std::move(executable);
  refresh();
}

void Sandbox::refresh() {
  if (!session_) return;
  const Status alive = session_->synchronize(runtime::kDefaultStream);
  if (!alive && alive.error().fault == PlatformFault::kLost) restart();
}

runtime::KernelRunner& Sandbox::runner_of(const std::string& kernel) {
  const bool shared = shared_ || (!alone_.empty() && alone_ != kernel);
  runtime::KernelRunner& result = runner();
  shared_ = shared;
  alone_ = kernel;
  return result;
}

runtime::KernelRunner& Sandbox::runner() {
  shared_ = true;
  if (!runner_) {
    // A kernel that the device refuses does not affect the others.
    runner_ = unwrap(runtime::KernelRunner::create(session(), executable_,
                                                   runtime::BeyondLimits::kRefusesCalls));
  }
  return *runner_;
}

bool Sandbox::contains(const Error& error) const {
  if (!isolated() || error.kind != ErrorKind::kPlatform) return false;
  switch (error.fault) {
    case PlatformFault::kCrash:
    case PlatformFault::kTimeout:
    case PlatformFault::kProtocol:
      // Stray writes may have changed what the process was about to report.
      return true;
    case PlatformFault::kLost:
      return !platform_.remote_target;
    default:
      return false;
  }
}

bool Sandbox::lost(const Error& error) const {
  return isolated() && error.fault == PlatformFault::kLost && !contains(error);
}

void Sandbox::restart() {
  if (session_ && before_end_) before_end_(*session_);
  runner_.reset();
  session_.reset();
  alone_.clear();
  shared_ = false;
  ++restarts_;
}

}  // namespace tapml::topdown
