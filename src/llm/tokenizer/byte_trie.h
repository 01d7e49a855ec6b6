// Strings by their bytes: finds the longest one that starts at a position.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tapml::tokenizer {

class ByteTrie {
 public:
  // `value` (not negative) of the string `key`, which is not empty. A key that exists already keeps
  // its value.
  void add(std::string_view key, int32_t value);

  // The longest key that `text` has at `at`; `value` is -1 if there is none.
  struct Match {
    int32_t value = -1;
    size_t end = 0;
  };
  Match longest_at(std::string_view text, size_t at) const;

  // visit(value, end) for each key that `text` has at `at`, from the shortest to the longest.
  template <class Visit>
  void each_at(std::string_view text, size_t at, Visit visit) const {
    int32_t node = at < text.size() ? first_[static_cast<uint8_t>(text[at])] : -1;
    while (node >= 0) {
      ++at;
      if (nodes_[node].value >= 0) visit(nodes_[node].value, at);
      node = at < text.size() ? child(node, text[at]) : -1;
    }
  }

 private:
  struct Node {
    int32_t first_child = -1;
    int32_t next_sibling = -1;
    int32_t value = -1;
    char byte = 0;
  };
  static constexpr std::array<int32_t, 256> no_nodes() {
    std::array<int32_t, 256> none{};
    none.fill(-1);
    return none;
  }
  int32_t child(int32_t node, char byte) const;
  int32_t add_node(char byte, int32_t next_sibling);

  std::vector<Node> nodes_;
  std::array<int32_t, 256> first_ = no_nodes();  // the nodes of first bytes
};

}  // namespace tapml::tokenizer
