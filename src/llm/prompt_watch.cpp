#include "llm/prompt_watch.h"

#include <algorithm>

#include "base/clock.h"

namespace tapml::llm {

namespace {

constexpr int64_t kFewTokens = 16;
// Seconds between two waits: a wait costs tens of microseconds, in which the device may be idle.
constexpr double kShortestGap = 0.1, kLongestGap = 0.5;

int64_t kernel_calls(const Executable& executable, const char* function) {
  const VmFunction* found = executable.find_function(function);
  if (!found) return 0;
  return std::ranges::count(found->code, Opcode::kCallKernel, &Instruction::op);
}

}  // namespace

PromptWatch::PromptWatch(const WorkWatcher& watcher, runtime::VirtualMachine& vm,
                         runtime::LocalVirtualMachine* local, const char* function, int64_t tokens)
    : watcher_(watcher),
      vm_(vm),
      local_(local),
      tokens_(tokens),
      watched_(watcher && tokens >= kFewTokens) {
  if (!watched_) return;
  calls_in_piece_ = kernel_calls(vm_.executable(), function);
  if (calls_in_piece_ == 0) return;
  if (!local_) {
    vm_.set_call_watcher([this](int64_t launched) { tell_done(launched); });
    return;
  }
  observes_ = true;
  other_ = local_->call_point().observer();
  local_->call_point().set_observer(this);
}

PromptWatch::~PromptWatch() {
  if (observes_) local_->call_point().set_observer(other_);
  if (watched_ && !local_) vm_.set_call_watcher({});
  if (watched_) tell(watcher_, {"prompt", tokens_, tokens_, "tokens"});
}

void PromptWatch::begin(int64_t tokens) {
  if (!watched_) return;
  piece_ = tokens;
  calls_ = 0;
  next_ = gap_;
  waited_ = seconds_now();
  tell_done(0);
}

Status PromptWatch::end() {
  if (!watched_) return {};
  if (done_ + piece_ < tokens_) TAPML_TRY(vm_.session().synchronize(runtime::kDefaultStream));
  done_ += piece_;
  piece_ = 0;
  return {};
}

bool PromptWatch::wants(const runtime::CallSite& site, int64_t sequence) noexcept {
  other_wants_ = other_ && other_->wants(site, sequence);
  return ++calls_ >= next_ || other_wants_;
}

// The call point has waited for all calls before this one.
Status PromptWatch::before(const runtime::KernelCall& call) noexcept {
  if (other_wants_) TAPML_TRY(other_->before(call));
  if (calls_ < next_) return {};
  const double now = seconds_now();
  if (now - waited_ < kShortestGap) {
    gap_ *= 2;
  } else if (now - waited_ > kLongestGap) {
    gap_ = std::max<int64_t>(gap_ / 2, 1);
  }
  tell_done(calls_ - 1);
  return {};
}

Status PromptWatch::after(const runtime::KernelCall& call) noexcept {
  if (other_wants_) TAPML_TRY(other_->after(call));
  if (calls_ < next_) return {};
  next_ = calls_ + gap_;
  waited_ = seconds_now();
  return {};
}

void PromptWatch::packed(const runtime::PackedCall& call) noexcept {
  if (other_) other_->packed(call);
}

void PromptWatch::tell_done(int64_t calls) {
  calls = std::max<int64_t>(calls, 0);
  const int64_t all = std::max(calls_in_piece_, calls + 1);
  // All tokens are done only at the end, and a report never goes back.
  told_ = std::max(told_, std::min(done_ + piece_ * calls / all, tokens_ - 1));
  tell(watcher_, {"prompt", told_, tokens_, "tokens"});
}

}  // namespace tapml::llm
