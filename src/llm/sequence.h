// A text in the state of a model: its pages and its slot, and its tokens and calls. Internal to the
// component.
#pragma once

#include <algorithm>
#include <vector>

#include "llm/page_table.h"

namespace tapml::llm {

// The rows of state that sequences use: pages of all paged tensors, and a slot of each other one.
struct StateRows {
  PageAllocator pages, slots;
  int64_t page_size = 16;
};

struct Sequence {
  explicit Sequence(StateRows& rows) : pages(rows.pages, rows.page_size), slots_(rows.slots) {}
  ~Sequence() { clear(); }
  Sequence(const Sequence&) = delete;

  void clear() {
    pages.clear();
    if (slot >= 0) slots_.give_back(slot);
    slot = -1;
    is_encoded = false;
    length = 0;
    planned = 0;
    tokens.clear();
    unread.clear();
    calls.clear();
  }

  Status take_slot() {
    TAPML_ASSIGN(slot, slots_.take());
    return {};
  }

  // Forgets the tokens after the first `count`, 0 to `length`, for paged state.
  void rewind(int64_t count) {
    while (length > count) {
      const int64_t cut = std::min(calls.back().tokens, length - count);
      calls.back().tokens -= cut;
      if (calls.back().tokens == 0) calls.pop_back();
      length -= cut;
    }
    tokens.resize(static_cast<size_t>(length));
    pages.shrink(length);
  }

  // The same for state without a row for each token: it starts anew, and the remaining tokens are
  // read again before others.
  void start_over(int64_t count) {
    std::vector<int32_t> kept(tokens.begin(), tokens.begin() + count);
    if (count == length) kept.insert(kept.end(), unread.begin(), unread.end());
    clear();
    unread = std::move(kept);
  }

  int64_t size() const { return length + std::ssize(unread); }  // tokens, read or not

  SequencePages pages;
  int32_t slot = -1;        // none yet
  bool is_encoded = false;  // the slot holds the encoder's output
  int64_t length = 0;       // number of tokens in the state
  int64_t planned = 0;      // the same after the prompt or token that is being read
  // The tokens, and the calls that appended them.
  struct Call {
    const char* function;
    int64_t tokens;
  };
  std::vector<int32_t> tokens;
  std::vector<int32_t> unread;
  std::vector<Call> calls;

 private:
  PageAllocator& slots_;
};

}  // namespace tapml::llm
