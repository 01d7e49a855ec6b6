// A map with undo: facts known in one branch of a program, without copying all facts known around
// it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tapml {

template <class Key, class Value>
class UndoMap {
 public:
  const std::map<Key, Value>& entries() const { return entries_; }
  // Null if the key is absent.
  const Value* find(const Key& key) const {
    auto it = entries_.find(key);
    return it == entries_.end() ? nullptr : &it->second;
  }
  void set(const Key& key, Value value) {
    auto [it, is_new] = entries_.try_emplace(key);
    log_.emplace_back(key, is_new ? std::nullopt : std::optional(std::move(it->second)));
    it->second = std::move(value);
  }

  // The number of changes so far, and the key of each.
  size_t changes() const { return log_.size(); }
  const Key& changed(size_t change) const { return log_[change].first; }
  // Undoes all but the first `changes`.
  void undo(size_t changes) {
    for (; log_.size() > changes; log_.pop_back()) {
      auto& [key, before] = log_.back();
      if (before) {
        entries_[key] = std::move(*before);
      } else {
        entries_.erase(key);
      }
    }
  }

 private:
  std::map<Key, Value> entries_;
  std::vector<std::pair<Key, std::optional<Value>>> log_;
};

// Runs both sides of an if, of which one is taken at run time. Afterwards the map also holds what
// either side set (the first side's value if both did), except for keys that it already held.
template <class Key, class Value, class First, class Second>
void run_sides(UndoMap<Key, Value>& map, First&& first, Second&& second) {
  const size_t before = map.changes();
  std::map<Key, Value> set;
  auto take = [&] {
    for (size_t i = before; i < map.changes(); ++i) {
      set.emplace(map.changed(i), *map.find(map.changed(i)));
    }
    map.undo(before);
  };
  first();
  take();
  second();
  take();
  for (auto& [key, value] : set) {
    if (!map.find(key)) map.set(key, std::move(value));
  }
}

}  // namespace tapml
