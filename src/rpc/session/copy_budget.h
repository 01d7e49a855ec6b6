// Limits how much may be copied out of one message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapml::rpc {

// The limit is the message's size. In FlatBuffers many offsets may refer to one string or vector,
// so a small message could ask for any amount of memory; counting each use prevents that. Messages
// of our writers share nothing and fit.
class CopyBudget {
 public:
  explicit CopyBudget(size_t message_bytes) : left_(message_bytes) {}
  // Takes a string or vector of `bytes` bytes; false if it exceeds the budget.
  bool take(uint64_t bytes) {
    constexpr uint64_t kHeader = 8;  // its size, and the offset that refers to it
    overdrawn_ = overdrawn_ || bytes > left_ || kHeader > left_ - bytes;
    if (!overdrawn_) left_ -= bytes + kHeader;
    return !overdrawn_;
  }
  bool overdrawn() const { return overdrawn_; }

 private:
  uint64_t left_;
  bool overdrawn_ = false;
};

}  // namespace tapml::rpc
