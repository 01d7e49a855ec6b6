#include "passes/memory/assign.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "passes/memory/storage.h"

namespace tapml::passes {

namespace {

// With more items than this, only the strategy that is linear in their number is tried.
constexpr size_t kManyItems = 2000;
// With more storages than this, only so many unused ones are tried. The same limits storages whose
// size is unrelated to the item's, in every strategy.
constexpr size_t kManyStorages = 64;
// A byte of growth is worse than any idle byte.
constexpr double kGrowthCost = 1024;

// When a storage grows instead of a new one being added.
enum class Growth {
  kLess,  // by less than a new storage for the item would take
  kAny,   // by at most that plus alignment: few, large storages
};

// Placing items with lifetimes and sizes in the least memory is dynamic storage allocation, which
// is NP-hard. This is a greedy best fit: each item goes where it makes the storages grow least, at
// the first offset that is free of items needed at the same time. The best order depends on the
// model (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020,
// compare some), so assign_storages() tries several and takes the best. Sizes are symbolic: items
// that cannot be compared do not share.
class Assignment {
 public:
  Assignment(const std::vector<MemoryItem>& items, Sizes& sizes, AssignOptions options,
             Growth growth, bool in_time_order)
      : items_(items),
        sizes_(sizes),
        options_(options),
        growth_(growth),
        in_time_order_(in_time_order) {}

  // Puts item `i` where it costs least, or into a new storage.
  void put(int32_t i) {
    const MemoryItem& item = items_[static_cast<size_t>(i)];
    const double alone = sizes_.typical(item.size);
    const double most_growth =
        growth_ == Growth::kLess ? alone : alone + static_cast<double>(kTensorAlignment);
    size_t best = storages_.size();
    Fit best_fit;
    double least = 0;
    size_t unrelated = 0;
    auto offer = [&](size_t s) {
      if (best < storages_.size() && least <= 0) return;
      const Relation relation = storages_[s].relation(item, sizes_);
      if (relation == Relation::kNone) return;
      if (relation == Relation::kUnrelated && ++unrelated > kManyStorages) return;
      auto fit = storages_[s].find_fit(item, sizes_, options_, in_time_order_, most_growth);
      if (!fit || (growth_ == Growth::kLess && fit->grows && fit->growth >= alone)) return;
      double cost = fit->growth * kGrowthCost + fit->waste;
      if (best < storages_.size() && cost >= least) return;
      best = s;
      best_fit = *fit;
      least = cost;
    };
    free_until(item.first);
    const bool few = !is_large() || storages_.size() <= kManyStorages;
    if (!item.alone && few) {
      for (size_t s = 0; s < storages_.size(); ++s) offer(s);
    } else if (!item.alone) {
      const size_t count = std::min(free_.size(), kManyStorages);
      std::for_each(free_.end() - static_cast<std::ptrdiff_t>(count), free_.end(), offer);
    }
    if (best == storages_.size()) best_fit = storages_.emplace_back().start(item, sizes_);
    storages_[best].take(i, item, best_fit, sizes_);
    if (is_large()) occupy(best, item.last);
  }

  double total() const {
    double sum = 0;
    for (const StorageInProgress& storage : storages_) sum += sizes_.typical(storage.plan().size);
    return sum;
  }

  std::vector<SharedStorage> take() {
    std::vector<SharedStorage> plans;
    for (StorageInProgress& storage : storages_) plans.push_back(storage.finish());
    std::stable_sort(plans.begin(), plans.end(), [&](const auto& a, const auto& b) {
      return std::pair(a.place, a.items[0].item) < std::pair(b.place, b.items[0].item);
    });
    return plans;
  }

 private:
  bool is_large() const { return in_time_order_ && items_.size() > kManyItems; }

  // Marks storages as free whose items have all ended before `position`.
  void free_until(int64_t position) {
    for (auto it = busy_.begin(); it != busy_.end() && it->first < position;) {
      if (it->first == busy_until_[it->second]) free_.push_back(it->second);
      it = busy_.erase(it);
    }
  }

  void occupy(size_t storage, int64_t last) {
    busy_until_.resize(storages_.size(), -1);
    const auto recent = std::min(free_.size(), kManyStorages);
    const auto begin = free_.end() - static_cast<std::ptrdiff_t>(recent);
    if (auto at = std::find(begin, free_.end(), storage); at != free_.end()) free_.erase(at);
    if (last <= busy_until_[storage]) return;
    busy_until_[storage] = last;
    busy_.emplace(last, storage);
  }

  const std::vector<MemoryItem>& items_;
  Sizes& sizes_;
  AssignOptions options_;
  Growth growth_;
  bool in_time_order_;
  std::vector<StorageInProgress> storages_;
  // For many items in time order: the end of the last item in each storage, the storages by that
  // end, and those that have ended, latest last.
  std::vector<int64_t> busy_until_;
  std::multimap<int64_t, size_t> busy_;
  std::vector<size_t> free_;
};

// Typical bytes needed at one time: a lower bound of every plan.
double least_total(const std::vector<MemoryItem>& items, const Sizes& sizes) {
  std::map<int64_t, double> change;  // by position
  for (const MemoryItem& item : items) {
    change[item.first] += sizes.typical(item.size);
    change[item.last + 1] -= sizes.typical(item.size);
  }
  double now = 0, most = 0;
  for (const auto& [position, bytes] : change) most = std::max(most, now += bytes);
  return most;
}

}  // namespace

std::vector<SharedStorage> assign_storages(const std::vector<MemoryItem>& items, Sizes& sizes,
                                           const AssignOptions& options) {
  std::vector<int32_t> by_time(items.size());
  std::iota(by_time.begin(), by_time.end(), 0);
  auto at = [&](int32_t i) -> const MemoryItem& { return items[static_cast<size_t>(i)]; };
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](int32_t a, int32_t b) { return at(a).first < at(b).first; });
  AssignOptions whole = options;
  whole.offsets = false;
  auto run = [&](const std::vector<int32_t>& order, Growth growth, const AssignOptions& how) {
    Assignment one(items, sizes, how, growth, &order == &by_time);
    for (int32_t i : order) one.put(i);
    return one;
  };
  std::optional<Assignment> best = run(by_time, Growth::kLess, options);
  if (items.size() > kManyItems) return best->take();
  const double least = least_total(items, sizes);
  auto attempt = [&](const std::vector<int32_t>& order, Growth growth, const AssignOptions& how) {
    if (best->total() <= least) return;
    Assignment other = run(order, growth, how);
    if (other.total() < best->total()) best.emplace(std::move(other));
  };
  // Larger items first, by one of several measures; equal ones by position.
  auto ordered = [&](const std::function<double(const MemoryItem&)>& weight) {
    std::vector<int32_t> order = by_time;
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return weight(at(a)) > weight(at(b)); });
    return order;
  };
  auto bytes = [&](const MemoryItem& item) { return sizes.typical(item.size); };
  auto time = [](const MemoryItem& item) { return static_cast<double>(item.last - item.first); };
  const std::vector<std::vector<int32_t>> orders = {
      ordered(bytes), ordered(time),
      ordered([&](const MemoryItem& item) { return bytes(item) * (1 + time(item)); })};
  attempt(orders[0], Growth::kLess, options);
  if (!options.offsets) return best->take();
  attempt(by_time, Growth::kLess, whole);
  attempt(orders[0], Growth::kLess, whole);
  attempt(by_time, Growth::kAny, options);
  for (const auto& order : orders) attempt(order, Growth::kAny, options);
  for (const auto& order : orders) attempt(order, Growth::kLess, options);
  return best->take();
}

}  // namespace tapml::passes
