#include "llm/speculation/lookup.h"

#include <algorithm>
#include <string>

namespace tapml::llm {

namespace {

constexpr int64_t kMostMatched = 64;

}  // namespace

Result<std::unique_ptr<Proposer>> Lookup::create(int64_t matched) {
  if (matched < 1 || matched > kMostMatched) {
    return fail(user_error("the number of tokens to look up is out of range", "lookup",
                           "1 to " + std::to_string(kMostMatched) + " tokens",
                           std::to_string(matched)));
  }
  return std::unique_ptr<Proposer>(new Lookup(matched));
}

Result<Proposal> Lookup::propose(std::span<const int32_t> text, int64_t count) {
  const int64_t size = std::ssize(text);
  const auto end = text.last(static_cast<size_t>(std::min(matched_, size)));
  for (int64_t next = size - 1; next >= matched_; --next) {
    const auto before = text.subspan(static_cast<size_t>(next - matched_), end.size());
    if (!std::ranges::equal(before, end)) continue;
    const auto follows =
        text.subspan(static_cast<size_t>(next), static_cast<size_t>(std::min(count, size - next)));
    return Proposal{{follows.begin(), follows.end()}, {}};
  }
  return Proposal{};
}

}  // namespace tapml::llm
