// How far a long prompt is, while its pieces run.
#pragma once

#include "base/work.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::llm {

// Reports the tokens of a prompt that are computed, not those that are enqueued. Between two kernel
// calls of a VM in this process it waits for the calls before, at most a few times a second and a
// few times more at the start. A remote VM says with its heartbeats how many calls it has launched.
// The prompt computes the same bits. An observer that is already set continues to work.
class PromptWatch final : public runtime::Observer {
 public:
  // `local`: `vm` where it is of this process, else null. `function` gets `tokens` tokens in total,
  // over all sequences. Without a watcher, or with few tokens, it reports nothing and waits for
  // nothing. What is passed by reference outlives it.
  PromptWatch(const WorkWatcher& watcher, runtime::VirtualMachine& vm,
              runtime::LocalVirtualMachine* local, const char* function, int64_t tokens);
  ~PromptWatch() override;
  PromptWatch(const PromptWatch&) = delete;
  PromptWatch& operator=(const PromptWatch&) = delete;

  // The next piece, of so many tokens, is about to be called.
  void begin(int64_t tokens);
  // It is enqueued. Waits for it where another one follows.
  Status end();

  bool wants(const runtime::CallSite& site, int64_t sequence) noexcept override;
  Status before(const runtime::KernelCall& call) noexcept override;
  Status after(const runtime::KernelCall& call) noexcept override;
  void packed(const runtime::PackedCall& call) noexcept override;

 private:
  void tell_done(int64_t calls);

  const WorkWatcher& watcher_;
  runtime::VirtualMachine& vm_;
  runtime::LocalVirtualMachine* local_;
  const int64_t tokens_;
  const bool watched_;
  bool observes_ = false;
  runtime::Observer* other_ = nullptr;      // that was there before
  bool other_wants_ = false;                // the call at hand
  int64_t done_ = 0, piece_ = 0;            // tokens before the current piece, and of it
  int64_t told_ = 0;                        // tokens reported last
  int64_t calls_ = 0, calls_in_piece_ = 0;  // that have begun, and that there are
  int64_t gap_ = 8, next_ = 8;              // calls from one wait to the next, and which is next
  double waited_ = 0;                       // when it waited last
};

}  // namespace tapml::llm
