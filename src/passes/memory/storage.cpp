#include "passes/memory/storage.h"

#include <algorithm>

namespace tapml::passes {

Fit StorageInProgress::start(const MemoryItem& item, Sizes& sizes) {
  plan_ = {item.size, item.place, {}, false};
  known_ = item.known;
  fixed_ = item.alone;
  return {.offset = sizes.add(0), .end = item.size, .known = item.known};
}

Relation StorageInProgress::relation(const MemoryItem& item, const Sizes& sizes) const {
  if (fixed_) return Relation::kNone;
  const bool may_become = sizes.may_be_at_most(plan_.size, item.size);
  // Holding an escaping item must not keep a larger storage alive.
  if (item.escapes && !may_become) return Relation::kNone;
  // A part of the storage is at most as large as the storage.
  if (may_become || sizes.may_be_at_most(item.size, plan_.size)) return Relation::kRelated;
  // Both sizes must be known where the storage is allocated.
  const bool known = std::max(known_, item.known) <= std::min(plan_.place, item.place);
  return known && !plan_.escapes ? Relation::kUnrelated : Relation::kNone;
}

void StorageInProgress::take(int32_t i, const MemoryItem& item, const Fit& fit, Sizes& sizes) {
  if (fit.grows) plan_.size = sizes.join(plan_.size, fit.end);
  plan_.place = std::min(plan_.place, item.place);
  plan_.items.push_back({i, fit.offset});
  plan_.escapes |= item.escapes;
  known_ = fit.known;
  Placed placed{fit.offset, fit.end, item.first, item.last, std::max(fit.offset_known, item.known)};
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

// The effect of `item` at `offset` on the storage, other items aside. Sizes are only combined where
// typical values make the place worth considering.
std::optional<Fit> StorageInProgress::fit_at(int32_t offset, int64_t known, const MemoryItem& item,
                                             Sizes& sizes, const AssignOptions& options,
                                             double most_growth) const {
  const double size = sizes.typical(plan_.size);
  const double end = sizes.typical(offset) + sizes.typical(item.size);
  Fit fit{.offset = offset, .offset_known = known};
  fit.growth = std::max(0.0, end - size);
  fit.waste = std::max(0.0, size - end);
  if (fit.growth > most_growth) return std::nullopt;
  const int64_t place = std::min(plan_.place, item.place);
  if (known > place) return std::nullopt;
  // An item that enlarges the storage needs a size known where that is allocated.
  if (item.known > place && !sizes.may_be_at_most(item.size, plan_.size)) return std::nullopt;
  fit.end = sizes.sum(offset, item.size);
  if (fit.end < 0) return std::nullopt;
  fit.grows = !sizes.at_most(fit.end, plan_.size);
  if (!fit.grows) {
    if (item.escapes && plan_.size != item.size) return std::nullopt;
    if (plan_.escapes && item.escapes) return std::nullopt;
    fit.known = known_;
  } else {
    const bool is_end = sizes.at_most(plan_.size, fit.end);
    if (plan_.escapes || (item.escapes && !(is_end && fit.end == item.size))) return std::nullopt;
    fit.known = std::max({is_end ? 0 : known_, known, item.known});
    if (!is_end && !sizes.may_join(plan_.size, fit.end)) return std::nullopt;
    if (options.most_bytes > 0) {
      auto now = sizes.most(plan_.size), then = sizes.most(fit.end);
      if (now && then && std::max(*now, *then) > options.most_bytes) return std::nullopt;
    }
  }
  if (fit.known > place) return std::nullopt;
  return fit;
}

std::optional<Fit> StorageInProgress::find_fit(const MemoryItem& item, Sizes& sizes,
                                               const AssignOptions& options, bool in_time_order,
                                               double most_growth) {
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
  double last_end = -1;  // typical end of the items below `offset`
  auto conflicts = [&](const Placed& one) {
    return one.first <= item.last && item.first <= one.last;
  };
  for (size_t i = 0; i < placed_.size(); ++i) {
    const Placed& one = placed_[i];
    if (!conflicts(one)) continue;
    if (!options.offsets || item.escapes) return std::nullopt;
    // A gap before it, if that is proved against all that follow.
    double slack = sizes.typical(one.offset) - sizes.typical(offset) - sizes.typical(item.size);
    if (slack >= 0 && last_end < sizes.typical(one.offset)) {
      int32_t end = sizes.sum(offset, item.size);
      bool free = end >= 0;
      for (size_t j = i; free && j < placed_.size(); ++j) {
        free = !conflicts(placed_[j]) || sizes.at_most(end, placed_[j].offset);
      }
      auto fit = free ? fit_at(offset, known, item, sizes, options, most_growth) : std::nullopt;
      if (fit) fit->waste = slack;
      offer(fit);
    }
    last_end = std::max(last_end, sizes.typical(one.end));
    int32_t next = sizes.aligned(one.end);
    if (next < 0) return best;
    if (sizes.at_most(offset, next)) {
      offset = next;
      known = std::max(known, one.known);
    } else if (!sizes.at_most(next, offset)) {
      // It is unknown which of the two is larger.
      return best;
    }
  }
  offer(fit_at(offset, known, item, sizes, options, most_growth));
  return best;
}

}  // namespace tapml::passes
