// Which tensors share a storage.
#pragma once

#include <vector>

#include "passes/memory/sizes.h"

namespace tapml::passes {

// Memory that is needed from one position to another.
struct MemoryItem {
  int32_t size = 0;   // of Sizes
  int64_t first = 0;  // positions, both included
  int64_t last = 0;
  int64_t place = 0;     // where its storage is allocated when nothing else shares it
  int64_t known = 0;     // first place where the variables of its size have values
  bool escapes = false;  // outlives the function
  bool alone = false;    // shares with nothing
};

struct SharedStorage {
  int32_t size = 0;
  int64_t place = 0;
  std::vector<int32_t> items;  // ascending
  bool escapes = false;
};

// Storages by place; each item is in one of them. Items of one storage are never needed at the same
// position; a storage is at least as large as each of its items, and its size is known at its
// place. A storage that escapes is exactly as large as the item that does. Of several ways to
// share, the one that typically needs the least memory.
std::vector<SharedStorage> assign_storages(const std::vector<MemoryItem>& items, Sizes& sizes);

}  // namespace tapml::passes
