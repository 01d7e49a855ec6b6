// Allocates pages of the KV cache, on the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace tapml::llm {

// The free pages of one set of pools; page i is row i of every pool.
class PageAllocator {
 public:
  // `scattered`: pages are taken in an order that looks random, and is the same in every run.
  explicit PageAllocator(int64_t pages, bool scattered = false) : scattered_(scattered) {
    grow(pages);
  }

  int64_t pages() const { return pages_; }
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }
  // The free page that is first in order, the lowest unless they are scattered; PlatformError
  // (kOutOfMemory) when there is none.
  Result<int32_t> take();
  // A free page, which stays free; -1: there is none.
  int32_t peek() const { return free_.empty() ? -1 : free_.front(); }
  // Adds a use of a page that is in use. It is free again when each use has been given back.
  void share(int32_t page) { ++uses_[static_cast<size_t>(page)]; }
  int32_t uses(int32_t page) const { return uses_[static_cast<size_t>(page)]; }
  void give_back(int32_t page);
  // Adds free pages, up to a total of `pages`.
  void grow(int64_t pages);

 private:
  bool comes_after(int32_t a, int32_t b) const;
  void add_free(int32_t page);

  bool scattered_;
  int64_t pages_ = 0;
  std::vector<int32_t> free_;  // a heap whose top is first in order
  std::vector<int32_t> uses_;
};

// The pages of one sequence, in the order of its tokens. The oldest may be released: their entries
// then name the first page that is not.
class SequencePages {
 public:
  SequencePages(PageAllocator& allocator, int64_t page_size)
      : allocator_(allocator), page_size_(page_size) {}
  ~SequencePages() { clear(); }
  SequencePages(const SequencePages&) = delete;
  SequencePages& operator=(const SequencePages&) = delete;

  // Takes pages until `tokens` tokens fit.
  Status reserve(int64_t tokens);
  // Begins an empty text with full pages of another one, which stay as they are.
  void adopt(std::span<const int32_t> pages);
  // Frees the pages after those that `tokens` tokens need.
  void shrink(int64_t tokens);
  // Frees the pages whose tokens are all before token `first`, which must have a page unless it is
  // at most 0.
  void release_before(int64_t first);
  // Makes the text longer by `pages` full pages at its beginning, without a page of their own:
  // their entries name its pages but the last one, in an order that looks random. They must not be
  // written. Needs two pages.
  void repeat_before(int64_t pages);
  // The first token whose page is not released.
  int64_t first_kept() const { return released_ * page_size_; }
  void clear() { shrink(0); }
  const std::vector<int32_t>& table() const { return table_; }

 private:
  PageAllocator& allocator_;
  int64_t page_size_;
  std::vector<int32_t> table_;
  int64_t released_ = 0;  // pages at the beginning that are not its own
};

}  // namespace tapml::llm
