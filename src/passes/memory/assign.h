// Assigns tensors to storages, and offsets within them.
#pragma once

#include <vector>

#include "passes/memory/sizes.h"

namespace tapml::passes {

// Memory needed from one position to another.
struct MemoryItem {
  int32_t size = 0;   // of Sizes
  int64_t first = 0;  // positions, both included
  int64_t last = 0;
  int64_t place = 0;     // where its storage is allocated if it is not shared
  int64_t known = 0;     // first place where the variables of its size have values
  bool escapes = false;  // outlives the function
  bool alone = false;    // shares with nothing
};

// An item in a storage.
struct PlacedItem {
  int32_t item = 0;
  int32_t offset = 0;  // of Sizes; a multiple of kTensorAlignment
};

struct SharedStorage {
  int32_t size = 0;
  int64_t place = 0;
  std::vector<PlacedItem> items;  // ascending
  bool escapes = false;
};

struct AssignOptions {
  bool offsets = true;     // several items of a storage may be needed at one time
  int64_t most_bytes = 0;  // of a storage that several share, where sizes are constant; 0: any
};

// Storages by place; each item is in one of them. Items of one storage whose bytes overlap are
// never needed at the same position; a storage reaches at least to the end of each of its items,
// and its size and offsets are known at its place. A storage that escapes is exactly as large as
// the item that does. Of several ways to share, the one that typically needs the least memory.
std::vector<SharedStorage> assign_storages(const std::vector<MemoryItem>& items, Sizes& sizes,
                                           const AssignOptions& options = {});

}  // namespace tapml::passes
