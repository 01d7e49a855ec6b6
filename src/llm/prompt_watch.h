// How far a long prompt is, while its pieces run.
#pragma once

#include "base/work.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::llm {

// Tells a watcher of tokens that are done, not of those that are enqueued: between two kernel calls
// of a machine on this side it waits for what came before, at most a few times a second and a few
// times more at the begin; of a remote machine it knows whole pieces only. The prompt computes the
// same bits. What observes the machine's calls already goes on.
class PromptWatch final : public runtime::Observer {
 public:
  // `vm`: null for a remote machine. `function` gets `tokens` in all, those of all sequences.
  // Without a watcher, or with few tokens, nothing is reported and nothing waits. What is passed by
  // reference outlives it.
  PromptWatch(const WorkWatcher& watcher, runtime::Session& session,
              runtime::LocalVirtualMachine* vm, const char* function, int64_t tokens);
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
  runtime::Session& session_;
  runtime::LocalVirtualMachine* vm_;
  const int64_t tokens_;
  const bool watched_;
  bool observes_ = false;
  runtime::Observer* other_ = nullptr;      // that was there before
  bool other_wants_ = false;                // the call at hand
  int64_t done_ = 0, piece_ = 0;            // tokens before the piece at hand, and of it
  int64_t calls_ = 0, calls_in_piece_ = 0;  // that have begun, and that there are
  int64_t gap_ = 8, next_ = 8;              // calls from one wait to the next, and which is next
  double waited_ = 0;                       // when it waited last
};

}  // namespace tapml::llm
