// A storage while items are placed into it. For assign.cpp.
#pragma once

#include <optional>
#include <vector>

#include "abi/alignment.h"
#include "passes/memory/assign.h"

namespace tapml::passes {

// A place for an item in a storage.
struct Fit {
  int32_t offset = 0;
  int32_t end = 0;           // of the item
  bool grows = false;        // the storage grows to the greater of its size and `end`
  int64_t known = 0;         // first position where the size has a value
  int64_t offset_known = 0;  // the same of the offset
  double growth = 0;         // typical bytes that the storage grows by
  double waste = 0;          // typical bytes that stay idle around the item
};

// How an item's size relates to a storage's.
enum class Relation {
  kNone,       // no placement can be proved correct
  kUnrelated,  // neither can be proved larger: the storage can only become the maximum of both
  kRelated,
};

class StorageInProgress {
 public:
  const SharedStorage& plan() const { return plan_; }

  // Needs a few comparisons; find_fit() is only worth calling if this is not kNone.
  Relation relation(const MemoryItem& item, const Sizes& sizes) const;
  // The best place for `item`: without growth the tightest gap. Nothing if no place is proved
  // correct or if the storage would grow by more typical bytes than `most_growth`. `in_time_order`:
  // items are ordered by their first position, so that items which have ended no longer matter.
  std::optional<Fit> find_fit(const MemoryItem& item, Sizes& sizes, const AssignOptions& options,
                              bool in_time_order, double most_growth);
  // For the first item.
  Fit start(const MemoryItem& item, Sizes& sizes);
  void take(int32_t i, const MemoryItem& item, const Fit& fit, Sizes& sizes);
  SharedStorage finish();

 private:
  struct Placed {
    int32_t offset = 0, end = 0;
    int64_t first = 0, last = 0;
    int64_t known = 0;  // first position where its end has a value
  };
  std::optional<Fit> fit_at(int32_t offset, int64_t known, const MemoryItem& item, Sizes& sizes,
                            const AssignOptions& options, double most_growth) const;

  SharedStorage plan_;
  int64_t known_ = 0;           // of the size
  bool fixed_ = false;          // accepts no more items
  std::vector<Placed> placed_;  // by typical offset; those that can still conflict
};

}  // namespace tapml::passes
