#include "passes/memory/storage.h"

#include <algorithm>

namespace tapml::passes {

Fit StorageInProgress::start(const MemoryItem& item, Sizes& sizes) {
  plan_ = {item.size, item.place, {}, false};
  known_ = item.known;
  fixed_ = item.alone;
  return {.offset = sizes.add(0), .size = item.size, .known = item.known};
}

void StorageInProgress::take(int32_t i, const MemoryItem& item, const Fit& fit, Sizes& sizes) {
  plan_.size = fit.size;
  plan_.place = std::min(plan_.place, item.place);
  plan_.items.push_back({i, fit.offset});
  plan_.escapes |= item.escapes;
  known_ = fit.known;
  Placed placed{fit.offset, sizes.sum(fit.offset, item.size), item.first, item.last,
                std::max(fit.offset_known, item.known)};
  auto at = std::upper_bound(placed_.begin(), placed_.end(), placed,
                             [&](const Placed& a, const Placed& b) {
                               return sizes.typical(a.offset) < sizes.typical(b.offset);
                             });
  placed_.insert(at, placed);
}

SharedStorage StorageInProgress::finish() {
  std::sort(plan_.items.begin(), plan_.items.end(),
            [](const PlacedItem& a, const PlacedItem& b) { return a.item < b.item; });
  return std::move(plan_);
}

// What `item` at `offset` makes of the storage, other items apart.
std::optional<Fit> StorageInProgress::fit_at(int32_t offset, int64_t known, const MemoryItem& item,
                                             Sizes& sizes, const AssignOptions& options) const {
  int32_t end = sizes.sum(offset, item.size);
  if (end < 0) return std::nullopt;
  // What makes it larger is known when it is allocated.
  if (std::max(known, item.known) > std::min(plan_.place, item.place) &&
      !sizes.at_most(end, plan_.size)) {
    return std::nullopt;
  }
  Fit fit{.offset = offset, .size = sizes.join(plan_.size, end), .offset_known = known};
  const bool grows = fit.size != plan_.size;
  // Who holds a result holds no more than it.
  if (item.escapes && fit.size != item.size) return std::nullopt;
  if (plan_.escapes && (item.escapes || grows)) return std::nullopt;
  if (grows && options.most_bytes > 0) {
    auto most = sizes.most(fit.size);
    if (most && *most > options.most_bytes) return std::nullopt;
  }
  fit.known = !grows ? known_ : std::max({fit.size == end ? 0 : known_, known, item.known});
  if (std::max(fit.known, known) > std::min(plan_.place, item.place)) return std::nullopt;
  fit.growth = sizes.typical(fit.size) - sizes.typical(plan_.size);
  fit.waste = sizes.typical(fit.size) - sizes.typical(end);
  return fit;
}

std::optional<Fit> StorageInProgress::find_fit(const MemoryItem& item, Sizes& sizes,
                                               const AssignOptions& options, bool in_time_order) {
  if (fixed_) return std::nullopt;
  if (in_time_order) {
    std::erase_if(placed_, [&](const Placed& one) { return one.last < item.first; });
  }
  std::optional<Fit> best;
  auto offer = [&](std::optional<Fit> fit) {
    if (!fit) return;
    if (!best || std::pair(fit->growth, fit->waste) < std::pair(best->growth, best->waste)) {
      best = fit;
    }
  };
  int32_t offset = sizes.add(0);
  int64_t known = 0;
  double behind = -1;  // typical end of what lies below `offset`
  auto conflicts = [&](const Placed& one) {
    return one.first <= item.last && item.first <= one.last;
  };
  for (size_t i = 0; i < placed_.size(); ++i) {
    const Placed& one = placed_[i];
    if (!conflicts(one)) continue;
    if (!options.offsets || item.escapes) return std::nullopt;
    // A gap in front of it, where that is proved against all that follow.
    double room = sizes.typical(one.offset) - sizes.typical(offset) - sizes.typical(item.size);
    if (room >= 0 && behind < sizes.typical(one.offset)) {
      int32_t end = sizes.sum(offset, item.size);
      bool free = end >= 0;
      for (size_t j = i; free && j < placed_.size(); ++j) {
        free = !conflicts(placed_[j]) || sizes.at_most(end, placed_[j].offset);
      }
      auto fit = free ? fit_at(offset, known, item, sizes, options) : std::nullopt;
      if (fit) fit->waste = room;
      offer(fit);
    }
    behind = std::max(behind, sizes.typical(one.end));
    int32_t next = sizes.aligned(one.end);
    if (next < 0) return best;
    if (sizes.at_most(offset, next)) {
      offset = next;
      known = std::max(known, one.known);
    } else if (!sizes.at_most(next, offset)) {
      // Which of the two is the larger is not known.
      return best;
    }
  }
  offer(fit_at(offset, known, item, sizes, options));
  return best;
}

}  // namespace tapml::passes
