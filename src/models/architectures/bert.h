// What BERT and its descendants share: embeddings of tokens, of a type and of learned positions
// under one norm, then layers with norms after their sums, and biases (Devlin et al. 2019).
#pragma once

#include <string>

#include "models/config_fields.h"

namespace tapml::models {

struct BertConfig : DecoderConfig {
  std::string prefix = "bert";  // of the weights' names
  int64_t types = 0;            // of tokens
  int64_t first_position = 0;   // row of the first token's position in the table of positions
};

// All fields but the prefix and the first position: `context` has all rows of the table of
// positions. UserError for positions that are not absolute, and for a decoder.
BertConfig read_bert_config(const JsonObjectReader& json, const DecoderDefaults& defaults,
                            ConfigNotes& notes);
// With the pooler among the weights that no embedding needs.
EncoderModel bert_model(const char* architecture, const BertConfig& config);

// From transformers' BertConfig, and those of most of its descendants.
inline constexpr DecoderDefaults kBertDefaults = {.vocabulary = 30522,
                                                  .hidden = 768,
                                                  .layers = 12,
                                                  .heads = 12,
                                                  .context = 512,
                                                  .intermediate = 3072,
                                                  .norm_epsilon_key = "layer_norm_eps",
                                                  .norm_epsilon = 1e-12,
                                                  .activation = "gelu",
                                                  .scalings = RopeScalings::kNone};

}  // namespace tapml::models
