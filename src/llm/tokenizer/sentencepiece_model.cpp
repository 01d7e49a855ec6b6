#include "llm/tokenizer/sentencepiece_model.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";  // "▁"
constexpr float kUnknownPenalty = 10;

std::string byte_piece(int byte) {
  constexpr char kHex[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
}

bool is_spelled(PieceKind kind) {
  return kind == PieceKind::kNormal || kind == PieceKind::kUserDefined ||
         kind == PieceKind::kUnused;
}

}  // namespace

Result<SentencePieceModel> SentencePieceModel::make(SentencePieceFile file, std::string_view source,
                                                    bool prefix_once) {
  SentencePieceModel model;
  model.prefix_once_ = prefix_once;
  TAPML_ASSIGN(model.characters_, CharactersMap::make(file.characters_map, source));
  model.lowest_ = std::numeric_limits<float>::max();
  model.highest_ = std::numeric_limits<float>::lowest();
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePiece& piece = file.pieces[i];
    const auto id = static_cast<int32_t>(i);
    model.vocab_.emplace(piece.text, id);
    if (piece.kind == PieceKind::kUnknown && model.unknown_ < 0) model.unknown_ = id;
    if (piece.kind == PieceKind::kNormal) {
      model.lowest_ = std::min(model.lowest_, piece.score);
      model.highest_ = std::max(model.highest_, piece.score);
    }
    if (piece.kind == PieceKind::kUserDefined) model.user_defined_.add(piece.text, id);
    if (!is_spelled(piece.kind)) continue;
    model.pieces_.emplace(piece.text, id);
    model.trie_.add(piece.text, id);
  }
  if (model.unknown_ < 0) {
    return fail(user_error("the model has no unknown piece", std::string(source),
                           "a piece of that kind", std::to_string(file.pieces.size()) + " others"));
  }
  for (int byte = 0; byte < 256 && file.byte_fallback; ++byte) {
    const auto found = model.vocab_.find(byte_piece(byte));
    if (found == model.vocab_.end()) {
      return fail(user_error("the model lacks the piece of a byte", std::string(source),
                             byte_piece(byte), "byte fallback without it"));
    }
    model.byte_ids_.push_back(found->second);
  }
  model.file_ = std::move(file);
  return model;
}

// What the text's first characters become.
CharactersMap::Match SentencePieceModel::normalized_prefix(std::string_view text) const {
  const ByteTrie::Match kept = user_defined_.longest_at(text, 0);
  if (kept.value >= 0) return {text.substr(0, kept.end), kept.end};
  if (const auto match = characters_.longest(text)) return *match;
  const size_t length = next_utf8(text, 0).length;
  return {text.substr(0, length), length};
}

std::string SentencePieceModel::normalized(std::string_view text, bool at_start) const {
  std::string out;
  const std::string_view space = file_.escapes_spaces ? kMark : " ";
  while (file_.removes_extra_spaces && !text.empty()) {
    const auto prefix = normalized_prefix(text);
    if (prefix.by != " ") break;
    text.remove_prefix(prefix.length);
  }
  if (text.empty()) return out;
  if (file_.adds_dummy_prefix && (at_start || !prefix_once_)) out += space;
  bool after_space = file_.removes_extra_spaces;
  while (!text.empty()) {
    const auto prefix = normalized_prefix(text);
    text.remove_prefix(prefix.length);
    std::string_view part = prefix.by;
    while (after_space && part.starts_with(' ')) part.remove_prefix(1);
    if (part.empty()) continue;
    for (const char c : part) {
      if (c == ' ') {
        out += space;
      } else {
        out += c;
      }
    }
    after_space = file_.removes_extra_spaces && part.ends_with(' ');
  }
  while (file_.removes_extra_spaces && out.ends_with(space)) out.resize(out.size() - space.size());
  return out;
}

// The path of the highest score; sums and ties are those of the library.
std::vector<SentencePieceModel::Piece> SentencePieceModel::unigrams(std::string_view text) const {
  struct Best {
    int32_t id = -1;
    float score = 0;
    size_t begin = std::string_view::npos;
  };
  std::vector<Best> best(text.size() + 1);
  const float unknown_score = lowest_ - kUnknownPenalty;
  const auto consider = [&](size_t end, size_t begin, int32_t id, double score) {
    Best& target = best[end];
    if (target.begin != std::string_view::npos && !(score > double{target.score})) return;
    target = {id, static_cast<float>(score), begin};
  };
  for (size_t begin = 0; begin < text.size();) {
    const double so_far = best[begin].score;
    const size_t length = next_utf8(text, begin).length;
    bool has_character = false;
    trie_.each_at(text, begin, [&](int32_t id, size_t end) {
      const SentencePiece& piece = file_.pieces[static_cast<size_t>(id)];
      if (piece.kind == PieceKind::kUnused) return;
      const auto size = static_cast<float>(end - begin);
      // A user-defined piece is always taken.
      const double score = piece.kind == PieceKind::kUserDefined ? double{size * highest_} - 0.1
                                                                 : double{piece.score};
      consider(end, begin, id,
               piece.kind == PieceKind::kUserDefined
                   ? score + so_far
                   : double{piece.score + static_cast<float>(so_far)});
      has_character |= end - begin == length;
    });
    if (!has_character) {
      consider(begin + length, begin, unknown_, double{unknown_score + static_cast<float>(so_far)});
    }
    begin += length;
  }
  std::vector<Piece> path;
  for (size_t end = text.size(); end > 0; end = best[end].begin) {
    path.push_back({best[end].id, best[end].begin, end});
  }
  std::ranges::reverse(path);
  return path;
}

std::vector<SentencePieceModel::Piece> SentencePieceModel::pairs(std::string_view text) const {
  struct Symbol {
    int32_t previous, next;  // -1 at the ends
    size_t begin, end;
    bool fixed;
  };
  struct Candidate {
    float score;
    int32_t left, right;
    size_t size;
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };
  std::vector<Symbol> symbols;
  for (size_t at = 0; at < text.size();) {
    const ByteTrie::Match kept = user_defined_.longest_at(text, at);
    const size_t end = kept.value >= 0 ? kept.end : at + next_utf8(text, at).length;
    const auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({index - 1, index + 1, at, end, kept.value >= 0});
    at = end;
  }
  if (symbols.empty()) return {};
  symbols.back().next = -1;
  std::priority_queue<Candidate> queue;
  // How unused pieces were made, so that they can be taken apart.
  std::unordered_map<std::string_view, size_t> left_sizes;
  const auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0 || symbols[left].fixed || symbols[right].fixed) return;
    const std::string_view joined =
        text.substr(symbols[left].begin, symbols[right].end - symbols[left].begin);
    const auto found = pieces_.find(joined);
    if (found == pieces_.end()) return;
    const SentencePiece& piece = file_.pieces[static_cast<size_t>(found->second)];
    queue.push({piece.score, left, right, joined.size()});
    if (piece.kind == PieceKind::kUnused) {
      left_sizes[joined] = symbols[left].end - symbols[left].begin;
    }
  };
  for (size_t i = 1; i < symbols.size(); ++i) {
    consider(static_cast<int32_t>(i) - 1, static_cast<int32_t>(i));
  }
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol &left = symbols[top.left], &right = symbols[top.right];
    const bool is_current = left.end > left.begin && right.end > right.begin &&
                            left.end == right.begin && right.end - left.begin == top.size;
    if (!is_current) continue;
    left.end = right.end;
    left.next = right.next;
    if (right.next >= 0) symbols[right.next].previous = top.left;
    right.begin = right.end;
    consider(left.previous, top.left);
    consider(top.left, left.next);
  }
  std::vector<Piece> pieces, open;
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    open.push_back({-1, symbols[i].begin, symbols[i].end});
    while (!open.empty()) {
      Piece piece = open.back();
      open.pop_back();
      const std::string_view spelled = text.substr(piece.begin, piece.end - piece.begin);
      const auto found = pieces_.find(spelled);
      piece.id = found == pieces_.end() ? unknown_ : found->second;
      const auto parts = left_sizes.find(spelled);
      if (file_.pieces[static_cast<size_t>(piece.id)].kind != PieceKind::kUnused ||
          parts == left_sizes.end()) {
        pieces.push_back(piece);
        continue;
      }
      const size_t middle = piece.begin + parts->second;
      open.push_back({-1, middle, piece.end});
      open.push_back({-1, piece.begin, middle});
    }
  }
  return pieces;
}

void SentencePieceModel::encode(std::string_view text, bool at_start,
                                std::vector<int32_t>& ids) const {
  const std::string spelled = normalized(text, at_start);
  bool after_unknown = false;
  for (const Piece& piece :
       file_.algorithm == SentencePieceAlgorithm::kBpe ? pairs(spelled) : unigrams(spelled)) {
    const bool is_unknown = piece.id == unknown_;
    if (is_unknown && file_.byte_fallback) {
      for (size_t i = piece.begin; i < piece.end; ++i) {
        ids.push_back(byte_ids_[static_cast<uint8_t>(spelled[i])]);
      }
    } else if (!is_unknown || !after_unknown) {
      ids.push_back(piece.id);
    }
    after_unknown = is_unknown;
  }
}

}  // namespace tapml::tokenizer
