// Reports the progress of a long prompt.
#pragma once

#include "base/work.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::llm {

// Reports the tokens of a prompt that are computed, not those that are enqueued. Between two kernel
// calls of a VM in this process it waits for the calls before, at most a few times a second and a
// few times more at the start. A remote VM reports in heartbeats how many calls it has launched.
// The prompt computes the same bits. An observer that is already set continues to work.
class PromptWatch final : public runtime::Observer {
 public:
  // `local`: `vm` if it is of this process, otherwise null. `function` gets `tokens` tokens in
  // total, over all sequences. Without a watcher, or with few tokens, nothing is reported and
  // nothing waits. Arguments passed by reference must outlive the object.
  PromptWatch(const WorkWatcher& watcher, runtime::VirtualMachine& vm,
              runtime::LocalVirtualMachine* local, const char* function, int64_t tokens);
  ~PromptWatch() override;
  PromptWatch(const PromptWatch&) = delete;
  PromptWatch& operator=(const PromptWatch&) = delete;

  // The next piece, of `tokens` tokens, is about to be called.
  void begin(int64_t tokens);
  // The piece is enqueued. Waits for it if another one follows.
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
  runtime::Observer* other_ = nullptr;      // the observer set before
  bool other_wants_ = false;                // the current call
  int64_t done_ = 0, piece_ = 0;            // tokens before the current piece, and of it
  int64_t told_ = 0;                        // tokens reported last
  int64_t calls_ = 0, calls_in_piece_ = 0;  // calls begun, and expected, in the piece
  int64_t gap_ = 8, next_ = 8;              // calls between two waits, and call of the next wait
  double waited_ = 0;                       // time of the last wait
};

}  // namespace tapml::llm
