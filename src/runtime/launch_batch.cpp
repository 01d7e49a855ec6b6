#include "runtime/launch_batch.h"

namespace tapml::runtime {

Status DeviceQueue::launch_batch(std::span<const BatchedLaunch> batch) noexcept {
  for (const BatchedLaunch& item : batch) {
    Status status = launch(*item.kernel, item.args);
    if (status) continue;
    if (status.error().where.empty()) status.error().where = "kernel " + *item.entry;
    return status;
  }
  return {};
}

void LaunchBatch::add(DeviceKernel& kernel, const std::string& entry, const LaunchArgs& args) {
  buffers_.insert(buffers_.end(), args.buffers.begin(), args.buffers.end());
  scalars_.insert(scalars_.end(), args.scalars.begin(), args.scalars.end());
  shared_.insert(shared_.end(), args.shared.begin(), args.shared.end());
  items_.push_back({&kernel, &entry, args});
}

std::span<const BatchedLaunch> LaunchBatch::launches() {
  size_t buffer = 0, scalar = 0, shared = 0;
  auto next = [](const auto& all, size_t& at, auto& span) {
    span = std::span(all).subspan(at, span.size());
    at += span.size();
  };
  for (BatchedLaunch& item : items_) {
    next(buffers_, buffer, item.args.buffers);
    next(scalars_, scalar, item.args.scalars);
    next(shared_, shared, item.args.shared);
  }
  return items_;
}

void LaunchBatch::clear() {
  items_.clear();
  buffers_.clear();
  scalars_.clear();
  shared_.clear();
}

}  // namespace tapml::runtime
