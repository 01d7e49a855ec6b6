#include "passes/memory/assign.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace tapml::passes {

namespace {

// Above this many items only the way that takes a time linear in them is tried.
constexpr size_t kManyItems = 20000;

struct Storage {
  SharedStorage plan;
  int64_t known = 0;                // of the largest item
  std::map<int64_t, int64_t> busy;  // first to last
  bool fixed = false;               // its size must stay as it is

  bool is_free(int64_t first, int64_t last) const {
    auto next = busy.upper_bound(last);
    return next == busy.begin() || std::prev(next)->second < first;
  }
};

class Assignment {
 public:
  Assignment(const std::vector<MemoryItem>& items, Sizes& sizes) : items_(items), sizes_(sizes) {}

  // Puts item `i` into the storage where it costs least, or into a new one.
  void put(int32_t i) {
    const MemoryItem& item = items_[static_cast<size_t>(i)];
    Storage* best = nullptr;
    int32_t best_size = 0;
    double least = 0;
    if (!item.alone) {
      for (Storage& storage : storages_) {
        int32_t size = size_with(storage, item);
        if (size < 0) continue;
        double growth = sizes_.typical(size) - sizes_.typical(storage.plan.size);
        double waste = sizes_.typical(size) - sizes_.typical(item.size);
        // A byte that has to be added is worse than any that lies idle.
        double cost = growth * 1024 + waste;
        if (best && cost >= least) continue;
        best = &storage;
        best_size = size;
        least = cost;
      }
      // Growing an old storage by as much as a new one takes gains nothing.
      if (best &&
          sizes_.typical(best_size) - sizes_.typical(best->plan.size) >=
              sizes_.typical(item.size) &&
          best_size != best->plan.size) {
        best = nullptr;
      }
    }
    if (!best) {
      best = &storages_.emplace_back();
      best->plan = {item.size, item.place, {}, false};
      best->fixed = item.alone;
      best_size = item.size;
    }
    best->plan.size = best_size;
    best->plan.place = std::min(best->plan.place, item.place);
    best->known = std::max(best->known, item.known);
    best->plan.items.push_back(i);
    best->plan.escapes |= item.escapes;
    best->busy[item.first] = item.last;
  }

  double total() const {
    double sum = 0;
    for (const Storage& storage : storages_) sum += sizes_.typical(storage.plan.size);
    return sum;
  }

  std::vector<SharedStorage> take() {
    std::vector<SharedStorage> plans;
    for (Storage& storage : storages_) {
      std::sort(storage.plan.items.begin(), storage.plan.items.end());
      plans.push_back(std::move(storage.plan));
    }
    std::stable_sort(plans.begin(), plans.end(), [&](const auto& a, const auto& b) {
      return std::pair(a.place, a.items[0]) < std::pair(b.place, b.items[0]);
    });
    return plans;
  }

 private:
  // The size of `storage` once it holds `item` too; -1 where it cannot.
  int32_t size_with(const Storage& storage, const MemoryItem& item) {
    if (storage.fixed || !storage.is_free(item.first, item.last)) return -1;
    int32_t size = sizes_.join(storage.plan.size, item.size);
    if (item.escapes && size != item.size) return -1;
    if (storage.plan.escapes && (item.escapes || size != storage.plan.size)) return -1;
    int64_t known = size == storage.plan.size ? storage.known
                    : size == item.size       ? item.known
                                              : std::max(storage.known, item.known);
    if (known > std::min(storage.plan.place, item.place)) return -1;
    return size;
  }

  const std::vector<MemoryItem>& items_;
  Sizes& sizes_;
  std::vector<Storage> storages_;
};

}  // namespace

std::vector<SharedStorage> assign_storages(const std::vector<MemoryItem>& items, Sizes& sizes) {
  std::vector<int32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  auto at = [&](int32_t i) -> const MemoryItem& { return items[static_cast<size_t>(i)]; };
  auto by_time = [&](int32_t a, int32_t b) { return at(a).first < at(b).first; };
  auto by_size = [&](int32_t a, int32_t b) {
    double x = sizes.typical(at(a).size), y = sizes.typical(at(b).size);
    return x != y ? x > y : at(a).first < at(b).first;
  };
  Assignment best(items, sizes);
  std::stable_sort(order.begin(), order.end(), by_time);
  for (int32_t i : order) best.put(i);
  if (items.size() > kManyItems) return best.take();
  Assignment other(items, sizes);
  std::stable_sort(order.begin(), order.end(), by_size);
  for (int32_t i : order) other.put(i);
  return (other.total() < best.total() ? other : best).take();
}

}  // namespace tapml::passes
