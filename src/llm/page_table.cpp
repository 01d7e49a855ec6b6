#include "llm/page_table.h"

#include <algorithm>
#include <string>

namespace tapml::llm {

bool PageAllocator::comes_after(int32_t a, int32_t b) const {
  if (!scattered_) return a > b;
  // Different for every page: the multiplication by an odd number permutes 32-bit numbers.
  const auto place = [](int32_t page) { return (static_cast<uint32_t>(page) + 1) * 2654435769U; };
  return place(a) > place(b);
}

Result<int32_t> PageAllocator::take() {
  if (free_.empty()) {
    return fail(platform_error(
        PlatformFault::kOutOfMemory,
        "the key-value cache is full: all " + std::to_string(pages_) + " pages are in use", "",
        "make the cache larger, or the text shorter"));
  }
  std::pop_heap(free_.begin(), free_.end(),
                [this](int32_t a, int32_t b) { return comes_after(a, b); });
  const int32_t page = free_.back();
  free_.pop_back();
  uses_[static_cast<size_t>(page)] = 1;
  return page;
}

void PageAllocator::give_back(int32_t page) {
  if (--uses_[static_cast<size_t>(page)] == 0) add_free(page);
}

void PageAllocator::add_free(int32_t page) {
  free_.push_back(page);
  std::push_heap(free_.begin(), free_.end(),
                 [this](int32_t a, int32_t b) { return comes_after(a, b); });
}

void PageAllocator::grow(int64_t pages) {
  uses_.resize(static_cast<size_t>(std::max(pages_, pages)));
  for (; pages_ < pages; ++pages_) add_free(static_cast<int32_t>(pages_));
}

Status SequencePages::reserve(int64_t tokens) {
  while (static_cast<int64_t>(table_.size()) * page_size_ < tokens) {
    TAPML_ASSIGN(int32_t page, allocator_.take());
    table_.push_back(page);
  }
  return {};
}

void SequencePages::adopt(std::span<const int32_t> pages) {
  for (const int32_t page : pages) allocator_.share(page);
  table_.assign(pages.begin(), pages.end());
}

void SequencePages::shrink(int64_t tokens) {
  while (!table_.empty() && (std::ssize(table_) - 1) * page_size_ >= tokens) {
    if (std::ssize(table_) > released_) allocator_.give_back(table_.back());
    table_.pop_back();
  }
  released_ = std::min<int64_t>(released_, std::ssize(table_));
}

void SequencePages::repeat_before(int64_t pages) {
  const size_t own = table_.size() - 1;
  std::vector<int32_t> table;
  uint32_t state = 1;  // of a linear congruential generator, whose upper bits look random
  for (int64_t i = 0; i < pages; ++i) {
    state = state * 1664525U + 1013904223U;
    table.push_back(table_[(state >> 16U) % own]);
  }
  table.insert(table.end(), table_.begin(), table_.end());
  table_ = std::move(table);
  released_ += pages;
}

void SequencePages::release_before(int64_t first) {
  const auto count = static_cast<size_t>(std::max<int64_t>(first, 0) / page_size_);
  if (count == 0) return;
  for (; released_ < static_cast<int64_t>(count); ++released_) {
    allocator_.give_back(table_[static_cast<size_t>(released_)]);
  }
  std::fill_n(table_.begin(), count, table_[count]);
}

}  // namespace tapml::llm
