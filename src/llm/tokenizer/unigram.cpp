#include "llm/tokenizer/unigram.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/strings.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

namespace {

constexpr double kPenaltyOfUnknown = 10;

}  // namespace

Result<UnigramModel> UnigramModel::read(const JsonObjectReader& model) {
  UnigramModel result;
  TAPML_ASSIGN(const std::vector<Json>* items, model.required_array("vocab"));
  TAPML_ASSIGN(result.byte_fallback_, model.bool_or("byte_fallback", false));
  if (items->empty() || std::ssize(*items) > kMaxTokenId + 1) {
    return fail(model.field_error("vocab", items->empty() ? "is empty" : "is too long",
                                  "1 to " + std::to_string(kMaxTokenId + 1) + " tokens"));
  }
  double lowest = 0;
  for (size_t i = 0; i < items->size(); ++i) {
    const Json& item = (*items)[i];
    const auto wrong = [&](std::string_view problem, std::string expected) {
      return fail(
          model.item_error(item, "vocab[" + std::to_string(i) + "]", problem, std::move(expected)));
    };
    if (!item.is_array() || item.items().size() != 2 || !item.items()[0].is_string() ||
        !item.items()[1].is_number()) {
      return wrong("is not a token", "a text and its score");
    }
    const std::string& text = item.items()[0].as_string();
    const double score = item.items()[1].as_double();
    if (!result.vocab_.emplace(text, static_cast<int32_t>(i)).second) {
      return wrong("has the text of another token", "a unique text");
    }
    if (!text.empty()) result.trie_.add(text, static_cast<int32_t>(i));
    result.scores_.push_back(score);
    lowest = i == 0 ? score : std::min(lowest, score);
  }
  result.unknown_score_ = lowest - kPenaltyOfUnknown;
  TAPML_ASSIGN(const int64_t unknown,
               model.required_int("unk_id", 0, std::ssize(result.scores_) - 1));
  result.unknown_id_ = static_cast<int32_t>(unknown);
  return result;
}

void UnigramModel::encode_part(std::string_view text, std::vector<int32_t>& ids) const {
  if (const auto found = vocab_.find(text); found != vocab_.end()) {
    ids.push_back(found->second);
    return;
  }
  std::vector<int32_t> bytes;
  for (const char c : text) {
    constexpr char kHex[] = "0123456789ABCDEF";
    const auto byte = static_cast<uint8_t>(c);
    const std::string token = {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
    const auto found = byte_fallback_ ? vocab_.find(token) : vocab_.end();
    if (found == vocab_.end()) {
      ids.push_back(unknown_id_);
      return;
    }
    bytes.push_back(found->second);
  }
  ids.insert(ids.end(), bytes.begin(), bytes.end());
}

void UnigramModel::encode(std::string_view word, std::vector<int32_t>& ids) const {
  struct Best {
    int32_t id = -1;  // -1: not reached
    size_t begin = 0;
    double score = 0;
  };
  std::vector<Best> best(word.size() + 1);
  const auto consider = [&](size_t begin, size_t end, int32_t id, double score) {
    const double sum = score + best[begin].score;
    if (best[end].id < 0 || sum > best[end].score) best[end] = {id, begin, sum};
  };
  for (size_t begin = 0; begin < word.size();) {
    const size_t length = next_utf8(word, begin).length;
    bool has_character = false;
    trie_.each_at(word, begin, [&](int32_t id, size_t end) {
      consider(begin, end, id, scores_[static_cast<size_t>(id)]);
      has_character |= end - begin == length;
    });
    if (!has_character) consider(begin, begin + length, unknown_id_, unknown_score_);
    begin += length;
  }
  std::vector<std::pair<size_t, size_t>> path;  // begin and end, from the end of the word
  bool after_unknown = false;
  for (size_t end = word.size(); end > 0;) {
    const Best& step = best[end];
    const bool is_unknown = step.id == unknown_id_;
    if (is_unknown && after_unknown) {
      path.back().first = step.begin;
    } else {
      path.emplace_back(step.begin, end);
    }
    after_unknown = is_unknown;
    end = step.begin;
  }
  for (const auto& [begin, end] : path | std::views::reverse) {
    encode_part(word.substr(begin, end - begin), ids);
  }
}

}  // namespace tapml::tokenizer
