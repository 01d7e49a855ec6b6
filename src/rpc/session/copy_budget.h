// What may be copied out of one message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapml::rpc {

// As much as the message has itself. In FlatBuffers many offsets may name one string or vector, so
// that a small message could ask for any amount of memory; where each is counted as often as it is
// used, it cannot. What our writers make shares nothing and fits.
class CopyBudget {
 public:
  explicit CopyBudget(size_t message_bytes) : left_(message_bytes) {}
  // A string or vector of so many bytes; false where they are not to be copied any more.
  bool take(uint64_t bytes) {
    constexpr uint64_t kHeader = 8;  // its size, and the offset that names it
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
