// Placement of tensors in storages: no overlap while both are live, and tight packing.
#include <gtest/gtest.h>

#include <random>

#include "abi/alignment.h"
#include "arith/evaluate.h"
#include "ir/symbol.h"
#include "passes/memory/assign.h"

namespace tapml::passes {
namespace {

constexpr AssignOptions kWhole = {.offsets = false};

MemoryItem item(int32_t size, int64_t first, int64_t last) {
  return {.size = size, .first = first, .last = last, .place = first};
}

int64_t total_of(const std::vector<SharedStorage>& storages, const Sizes& sizes) {
  int64_t total = 0;
  for (const SharedStorage& one : storages) total += sizes.bytes(one.size)->int_value;
  return total;
}

// The guarantees of assign_storages() at some values of the variables.
void check(const std::vector<MemoryItem>& items, const std::vector<SharedStorage>& storages,
           const Sizes& sizes, const arith::Values& values) {
  auto value = [&](int32_t size) { return arith::evaluate(sizes.bytes(size), values).value(); };
  std::vector<int> seen(items.size(), 0);
  for (const SharedStorage& storage : storages) {
    const int64_t bytes = value(storage.size);
    for (const PlacedItem& one : storage.items) {
      const MemoryItem& a = items[static_cast<size_t>(one.item)];
      ++seen[static_cast<size_t>(one.item)];
      const int64_t begin = value(one.offset), end = begin + value(a.size);
      ASSERT_GE(begin, 0);
      ASSERT_EQ(begin % kTensorAlignment, 0);
      ASSERT_LE(end, bytes);
      ASSERT_LE(storage.place, a.place);
      if (a.escapes) {
        ASSERT_EQ(begin, 0);
        ASSERT_EQ(end, bytes) << "who holds a result holds no more than it";
      }
      if (a.alone) {
        ASSERT_EQ(storage.items.size(), 1u);
      }
      for (const PlacedItem& two : storage.items) {
        const MemoryItem& b = items[static_cast<size_t>(two.item)];
        if (one.item == two.item || a.last < b.first || b.last < a.first) continue;
        const int64_t other = value(two.offset);
        ASSERT_TRUE(end <= other || other + value(b.size) <= begin)
            << "items " << one.item << " and " << two.item;
      }
    }
  }
  for (int times : seen) ASSERT_EQ(times, 1);
}

TEST(AssignStorages, SmallTensorsShareALargeStorage) {
  VarBounds none;
  Sizes sizes(none);
  int32_t large = sizes.add(1024), small = sizes.add(512);
  std::vector<MemoryItem> items = {item(large, 0, 1), item(small, 2, 4), item(small, 3, 4)};
  std::vector<SharedStorage> storages = assign_storages(items, sizes);
  ASSERT_EQ(storages.size(), 1u);
  EXPECT_EQ(sizes.bytes(storages[0].size)->int_value, 1024);
  EXPECT_EQ(sizes.bytes(storages[0].items[1].offset)->int_value, 0);
  EXPECT_EQ(sizes.bytes(storages[0].items[2].offset)->int_value, 512);
  EXPECT_EQ(total_of(assign_storages(items, sizes, kWhole), sizes), 1536);
}

TEST(AssignStorages, SymbolicPartsAreSplitWhereTheSumIsProved) {
  VarBounds none;
  Sizes sizes(none);
  Var n = make_size("n"), m = make_size("m");
  int32_t hidden = sizes.add(n * 16384), inner = sizes.add(n * 44032), other = sizes.add(m * 256);
  std::vector<MemoryItem> items = {item(inner, 0, 1), item(hidden, 2, 4), item(hidden, 3, 4)};
  std::vector<SharedStorage> storages = assign_storages(items, sizes);
  ASSERT_EQ(storages.size(), 1u);
  EXPECT_EQ(to_string(sizes.bytes(storages[0].items[2].offset)), "n*16384");
  // Nothing is known about m, so it does not go into a storage sized by n.
  items[2].size = other;
  storages = assign_storages(items, sizes);
  for (int64_t a : {0, 1, 700}) {
    for (int64_t b : {0, 3, 5000}) {
      check(items, storages, sizes, {{n.get(), a}, {m.get(), b}});
    }
  }
}

TEST(AssignStorages, TwoLayersNeedNoMoreThanThePeak) {
  VarBounds none;
  Sizes sizes(none);
  Var n = make_size("n");
  int32_t hidden = sizes.add(n * 16384), inner = sizes.add(n * 44032);
  std::vector<MemoryItem> items;
  for (int64_t layer = 0; layer < 2; ++layer) {
    const int64_t at = layer * 11;
    for (auto [size, first, last] :
         {std::tuple(hidden, 0, 3), std::tuple(hidden, 1, 4), std::tuple(hidden, 2, 4),
          std::tuple(hidden, 3, 4), std::tuple(hidden, 4, 5), std::tuple(hidden, 5, 10),
          std::tuple(hidden, 6, 8), std::tuple(inner, 7, 9), std::tuple(inner, 8, 9),
          std::tuple(inner, 9, 10), std::tuple(hidden, 10, 16)}) {
      items.push_back(item(size, at + first, at + last));
    }
  }
  std::vector<SharedStorage> storages = assign_storages(items, sizes);
  ASSERT_EQ(storages.size(), 1u);
  EXPECT_EQ(to_string(sizes.bytes(storages[0].size)), "n*148480");  // hidden and three of inner
}

TEST(AssignStorages, NoStorageGrowsBeyondThePeak) {
  VarBounds none;
  Sizes sizes(none);
  std::vector<MemoryItem> items;
  for (int i = 0; i < 6; ++i) items.push_back(item(sizes.add(1000 + 64 * i), i, 10));
  for (const SharedStorage& one : assign_storages(items, sizes, {.most_bytes = 2600})) {
    EXPECT_LE(sizes.bytes(one.size)->int_value, 2600);
  }
}

TEST(AssignStorages, SizesNearTheLimitOf64BitsStayApart) {
  VarBounds none;
  Sizes sizes(none);
  int32_t huge = sizes.add(INT64_MAX - 15);
  std::vector<MemoryItem> items = {item(huge, 0, 3), item(huge, 1, 3), item(sizes.add(16), 2, 3)};
  EXPECT_GE(assign_storages(items, sizes).size(), 2u);
}

std::vector<MemoryItem> random_items(std::mt19937& random,
                                     const std::function<int32_t()>& random_size) {
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  std::vector<MemoryItem> items;
  for (int64_t i = 0, count = pick(1, 24); i < count; ++i) {
    MemoryItem one = item(random_size(), i, std::min<int64_t>(24, i + pick(0, 6)));
    if (pick(0, 9) == 0) {
      one.escapes = true;
      one.last = 25;
    }
    one.alone = pick(0, 14) == 0;
    one.known = pick(0, 3) == 0 ? one.place : 0;
    items.push_back(one);
  }
  return items;
}

// Sizes that are all known from the start: a storage becomes the greatest of a few of them, never
// of so many that reasoning about it is slow.
TEST(AssignStorages, UnrelatedSizesShareStoragesOfBoundedSizes) {
  constexpr int kCount = 1000;
  VarBounds none;
  Sizes sizes(none);
  std::vector<Var> vars;
  std::vector<MemoryItem> items;
  arith::Values values;
  for (int i = 0; i < kCount; ++i) {
    vars.push_back(make_size("k"));
    values[vars.back().get()] = (i * 37) % 101;
    items.push_back(item(sizes.add(vars.back() * 16), i, i + 1));
  }
  std::vector<SharedStorage> storages = assign_storages(items, sizes);
  check(items, storages, sizes, values);
  EXPECT_LE(storages.size(), static_cast<size_t>(kCount) / 8);
  for (const SharedStorage& one : storages) {
    EXPECT_LE(free_vars(sizes.bytes(one.size)).size(), 16u);
  }
}

// Sizes that become known one after another: a later size cannot enlarge an earlier storage.
TEST(AssignStorages, SizesKnownLaterGetTheirOwnStorages) {
  for (int count : {600, 1000}) {  // few items, and many
    VarBounds none;
    Sizes sizes(none);
    std::vector<Var> vars;
    std::vector<MemoryItem> items;
    arith::Values values;
    const int32_t constant = sizes.add(16);
    for (int i = 0; i < count; ++i) {
      vars.push_back(make_size("k"));
      values[vars.back().get()] = i % 7;
      for (int32_t size : {sizes.add(vars.back() * 16), sizes.add(vars.back() * 48)}) {
        items.push_back(item(size, i, size % 2 == 0 ? i + 1 : i));
        items.back().known = i;
      }
      items.push_back(item(constant, i, i));
    }
    std::vector<SharedStorage> storages = assign_storages(items, sizes);
    check(items, storages, sizes, values);
    // The constant ones share.
    EXPECT_LE(storages.size(), 2 * static_cast<size_t>(count) + 1);
    for (const SharedStorage& one : storages) {
      EXPECT_LE(free_vars(sizes.bytes(one.size)).size(), 1u);
    }
  }
}

TEST(AssignStorages, RandomConstantSizesNeverOverlap) {
  std::mt19937 random(7);
  int64_t apart = 0, together = 0;
  for (int round = 0; round < 200; ++round) {
    VarBounds none;
    Sizes sizes(none);
    std::vector<MemoryItem> items = random_items(
        random, [&] { return sizes.add(static_cast<int64_t>(random() % 64) * 256 + 16); });
    std::vector<SharedStorage> storages = assign_storages(items, sizes);
    check(items, storages, sizes, {});
    if (HasFatalFailure()) return;
    int64_t whole = total_of(assign_storages(items, sizes, kWhole), sizes);
    EXPECT_LE(total_of(storages, sizes), whole);
    together += total_of(storages, sizes);
    apart += whole;
  }
  EXPECT_LT(together, apart);
}

TEST(AssignStorages, RandomSymbolicSizesNeverOverlap) {
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    VarBounds none;
    Sizes sizes(none);
    Var n = make_size("n"), m = make_size("m");
    auto size = [&]() -> int32_t {
      auto c = static_cast<int64_t>(1 + random() % 40);
      switch (random() % 5) {
        case 0:
          return sizes.add(c * 16);
        case 1:
          return sizes.add(storage_bytes({m, c}, DType::kF32));
        case 2:
          return sizes.add(storage_bytes({n, m}, DType::kF32));
        default:
          return sizes.add(storage_bytes({n, c}, DType::kF32));
      }
    };
    std::vector<MemoryItem> items = random_items(random, size);
    std::vector<SharedStorage> storages = assign_storages(items, sizes);
    for (int64_t a : {0, 1, 5, 63, 640}) {
      for (int64_t b : {0, 2, 17, 512}) {
        check(items, storages, sizes, {{n.get(), a}, {m.get(), b}});
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace tapml::passes
