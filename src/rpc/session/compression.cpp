#include "rpc/session/compression.h"

namespace tapml::rpc {

namespace {

// Weight of a new measurement in the average. One is not enough: a socket's buffer takes some bytes
// at once, which says little about the connection.
constexpr double kNew = 0.25;
// Packing is never faster than this: no need to try on faster connections.
constexpr double kFastWay = 1.0 / 800e6;  // seconds a byte

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::span<const std::byte> Packer::pack(std::span<const std::byte> bytes,
                                        std::vector<std::byte>& packed) noexcept {
  if (!compressor_ || !enabled_ || mode_ == Compression::kNever || bytes.size() < kLeastBytes) {
    return {};
  }
  double way = 0;
  if (mode_ == Compression::kMeasured) {
    runtime::LockGuard guard(lock_);
    if (way_ < kFastWay || --resting_ > 0) return {};
    way = way_;
  }
  const Clock::time_point start = Clock::now();
  if (!compressor_->pack(bytes, packed)) packed.clear();
  if (mode_ == Compression::kMeasured) {
    const double spared = static_cast<double>(bytes.size() - packed.size()) * way;
    const bool pays = !packed.empty() && seconds(Clock::now() - start) < spared;
    runtime::LockGuard guard(lock_);
    resting_ = pays ? 0 : kRest;
  }
  return packed;
}

void Packer::sent(size_t bytes, Clock::duration time) noexcept {
  if (bytes < kLeastBytes) return;
  const double now = seconds(time) / static_cast<double>(bytes);
  runtime::LockGuard guard(lock_);
  way_ = way_ == 0 ? now : (1 - kNew) * way_ + kNew * now;
}

}  // namespace tapml::rpc
