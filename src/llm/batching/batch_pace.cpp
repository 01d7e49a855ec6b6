#include "llm/batching/batch_pace.h"

namespace tapml::llm {

bool BatchPace::proposes(int64_t texts) const {
  if (keep_) return true;
  const auto at = by_texts_.find(texts);
  return at != by_texts_.end() && at->second.rest == 0 && at->second.pace.knows_plain();
}

void BatchPace::plain(int64_t texts, double seconds) {
  if (keep_) return;
  Measured& one = by_texts_[texts];
  // A token of each text: as fast as one token in a part of the time.
  one.pace.plain(seconds / static_cast<double>(texts));
  if (one.rest > 0 && --one.rest == 0) one.pace = {};
}

void BatchPace::verified(int64_t texts, double seconds, int64_t tokens) {
  if (keep_) return;
  Measured& one = by_texts_[texts];
  one.pace.verified(seconds, tokens);
  if (!one.pace.is_slower()) return;
  one.rest = kRest;
  ++stops_;
}

}  // namespace tapml::llm
