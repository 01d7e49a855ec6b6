#include "llm/batching/prefix_cache.h"

#include <algorithm>
#include <queue>

namespace tapml::llm {

PrefixCache::PrefixCache(PageAllocator& pages, int64_t page_size)
    : pages_(pages), page_size_(static_cast<size_t>(page_size)) {}

PrefixCache::~PrefixCache() { release(size_); }

std::vector<int32_t> PrefixCache::find(std::span<const int32_t> tokens) {
  std::vector<int32_t> found;
  ++uses_;
  for (Node* node = &root_; tokens.size() >= page_size_; tokens = tokens.subspan(page_size_)) {
    const auto child = node->children.find({tokens.begin(), tokens.begin() + page_size_});
    if (child == node->children.end()) break;
    node = child->second.get();
    node->last_use = uses_;
    found.push_back(node->page);
  }
  return found;
}

void PrefixCache::insert(std::span<const int32_t> tokens, std::span<const int32_t> table) {
  ++uses_;
  Node* node = &root_;
  for (size_t i = 0; (i + 1) * page_size_ <= tokens.size(); ++i) {
    const auto part = tokens.subspan(i * page_size_, page_size_);
    auto [at, is_new] = node->children.try_emplace({part.begin(), part.end()});
    if (is_new) {
      at->second = std::make_unique<Node>();
      at->second->parent = node;
      at->second->tokens = &at->first;
      at->second->page = table[i];
      pages_.share(table[i]);
      ++size_;
    }
    node = at->second.get();
    node->last_use = uses_;
  }
}

bool PrefixCache::can_leave(const Node& node) const {
  return node.children.empty() && node.parent && pages_.uses(node.page) == 1;
}

std::vector<PrefixCache::Node*> PrefixCache::nodes() const {
  std::vector<Node*> all;
  const auto add_children = [&](const Node& node) {
    for (const auto& [tokens, child] : node.children) all.push_back(child.get());
  };
  add_children(root_);
  for (size_t i = 0; i < all.size(); ++i) add_children(*all[i]);
  return all;
}

int64_t PrefixCache::unused() const {
  return std::ranges::count_if(nodes(),
                               [this](const Node* node) { return pages_.uses(node->page) == 1; });
}

int64_t PrefixCache::release(int64_t count) {
  const auto is_newer = [](const Node* a, const Node* b) { return a->last_use > b->last_use; };
  std::vector<Node*> leaves = nodes();
  std::erase_if(leaves, [this](const Node* node) { return !can_leave(*node); });
  std::priority_queue oldest(is_newer, std::move(leaves));
  int64_t released = 0;
  while (released < count && !oldest.empty()) {
    Node* const node = oldest.top();
    oldest.pop();
    Node* const parent = node->parent;
    pages_.give_back(node->page);
    parent->children.erase(parent->children.find(*node->tokens));
    --size_;
    ++released;
    if (can_leave(*parent)) oldest.push(parent);
  }
  return released;
}

}  // namespace tapml::llm
