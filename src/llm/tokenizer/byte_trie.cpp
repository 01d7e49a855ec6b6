#include "llm/tokenizer/byte_trie.h"

namespace tapml::tokenizer {

int32_t ByteTrie::child(int32_t node, char byte) const {
  int32_t at = nodes_[node].first_child;
  while (at >= 0 && nodes_[at].byte != byte) at = nodes_[at].next_sibling;
  return at;
}

int32_t ByteTrie::add_node(char byte, int32_t next_sibling) {
  nodes_.push_back({.next_sibling = next_sibling, .byte = byte});
  return static_cast<int32_t>(nodes_.size()) - 1;
}

void ByteTrie::add(std::string_view key, int32_t value) {
  int32_t& first = first_[static_cast<uint8_t>(key.front())];
  if (first < 0) first = add_node(key.front(), -1);
  int32_t node = first;
  for (const char byte : key.substr(1)) {
    int32_t next = child(node, byte);
    if (next < 0) {
      next = add_node(byte, nodes_[node].first_child);
      nodes_[node].first_child = next;
    }
    node = next;
  }
  if (nodes_[node].value < 0) nodes_[node].value = value;
}

ByteTrie::Match ByteTrie::longest_at(std::string_view text, size_t at) const {
  Match best;
  int32_t node = first_[static_cast<uint8_t>(text[at])];
  while (node >= 0) {
    ++at;
    if (nodes_[node].value >= 0) best = {nodes_[node].value, at};
    node = at < text.size() ? child(node, text[at]) : -1;
  }
  return best;
}

}  // namespace tapml::tokenizer
