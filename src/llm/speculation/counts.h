// What speculation did for one text.
#pragma once

#include <cstdint>
#include <optional>

namespace tapml::llm {

struct SpeculationCounts {
  int64_t proposed = 0, accepted = 0;  // tokens
  int64_t verify_steps = 0;            // calls that checked proposed tokens
  int64_t verified_tokens = 0;         // tokens that these calls chose
  int64_t plain_steps = 0;             // calls of `decode`
  double propose_seconds = 0, verify_seconds = 0, plain_seconds = 0;
  // Tokens of the text when it turned itself off, because plain decoding was faster.
  std::optional<int64_t> stopped_after;
  // It measured slower than plain decoding, and stayed on: see SpeculationOptions::keep.
  bool slower = false;

  // Accepted of the proposed tokens, 0 to 1.
  double acceptance() const { return proposed > 0 ? ratio(accepted, proposed) : 0; }
  double tokens_per_verify() const {
    return verify_steps > 0 ? ratio(verified_tokens, verify_steps) : 0;
  }

 private:
  static double ratio(int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  }
};

}  // namespace tapml::llm
