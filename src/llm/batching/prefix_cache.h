// Pages of the key-value cache that texts with a common beginning share.
//
// A page that is full never changes, so texts whose tokens agree up to its end can all read it. The
// cache is a tree (a radix tree whose edges are the tokens of one page): a node is a full page, and
// the path to it is all of the text before it. It holds a use of each of its pages, so that they
// outlive the texts that wrote them, until the room is needed: then the pages that no text uses
// leave it, least recently used first, and leaves first, since a page without those before it is
// of no use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "llm/page_table.h"

namespace tapml::llm {

class PrefixCache {
 public:
  // `pages` outlives the cache.
  PrefixCache(PageAllocator& pages, int64_t page_size);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;

  // The pages of the longest beginning of `tokens` that it has, in order.
  std::vector<int32_t> find(std::span<const int32_t> tokens);
  // Keeps the pages of all full pages of `tokens` that it does not have yet; `table` are the pages
  // of the text.
  void insert(std::span<const int32_t> tokens, std::span<const int32_t> table);
  // Gives back up to `count` pages that no text uses; returns how many.
  int64_t release(int64_t count);
  int64_t size() const { return size_; }  // pages
  int64_t unused() const;                 // of these, the ones that no text uses

 private:
  struct Node {
    Node* parent = nullptr;
    const std::vector<int32_t>* tokens = nullptr;  // the parent's key; null in the root
    int32_t page = -1;
    uint64_t last_use = 0;
    std::map<std::vector<int32_t>, std::unique_ptr<Node>> children;
  };
  bool can_leave(const Node& node) const;
  std::vector<Node*> nodes() const;  // without the root

  PageAllocator& pages_;
  const size_t page_size_;
  Node root_;
  int64_t size_ = 0;
  uint64_t uses_ = 0;
};

}  // namespace tapml::llm
