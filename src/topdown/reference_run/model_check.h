// Compares a whole model's logits with the reference's, teacher-forced on the source's tokens, or
// the vectors of an encoder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tapml::topdown {

struct ModelCheck {
  bool passed = true;
  // At the position whose error is the largest share of its bound: the largest error of a logit, at
  // most 4 max |source - reference| + 1e-4 max(1, max |logit|), and the RMS over all logits, at
  // most 4 times the source's + 2.5e-5 max(1, max |logit|). Maxima are those of the position. For
  // vectors, the largest number of a vector takes the place of max(1, max |logit|).
  double max_abs = 0, bound = 0;
  double rms = 0, rms_bound = 0;
  double source_error = 0;
  int64_t top1_changes =
      0;  // positions where the most likely token differs with a margin above the bound
  std::string failure;  // why there are no logits: a crash, a hang; empty otherwise

  int64_t positions = 0;  // tokens whose logits were compared, or texts
  // Of an encoder: the largest 1 - cosine of a vector and the reference's. Then what follows about
  // tokens is not known.
  std::optional<double> cosine_distance;
  // Kullback-Leibler divergence of the target's next-token distribution from the reference's, in
  // nats.
  double kl_max = 0, kl_mean = 0;
  // Mean share of the reference's kTopK most likely tokens that are among the target's.
  static constexpr int64_t kTopK = 5;
  double top_k_agreement = 1;
  // The first position where the most likely token differs; 0 is after the prompt. -1: none.
  int64_t first_divergent = -1;
  int32_t reference_token = -1, own_token = -1;  // the two tokens at that position
  double margin = 0;  // by how much the reference prefers its own token, in logits
  bool hung = false;  // `failure` is a kernel that does not end
  // The allowances of the target that it needs to pass, or that it fails with (allowances_text).
  std::string allowances;
};

// What the reference says of the token at a position of the run.
struct TokenMargin {
  int32_t token = -1;  // its first choice
  double margin = 0;   // by how much it prefers it to the second, in logits
  double bound = 0;    // the largest error of a logit that is allowed there

  // Whether errors within their bounds may change the choice.
  bool open() const { return margin <= 2 * bound; }
};

// What was compared: "logits of 5 tokens", "vectors of 3 texts".
std::string compared_text(const ModelCheck& check);
// "logits" or "vectors".
const char* compared_name(const ModelCheck& check);
// One line: "token 12 after the prompt: 345, the reference 17 by 2.1e-03"; empty if none differs.
std::string divergence_text(const ModelCheck& check);

}  // namespace tapml::topdown
