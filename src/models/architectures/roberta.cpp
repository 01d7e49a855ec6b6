// RoBERTa, XLM-RoBERTa and CamemBERT: BERT whose positions begin after the padding token's row (Liu
// et al. 2019, Conneau et al. 2020; the layout and names of Hugging Face's RobertaModel, without
// its pooler).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/bert.h"

namespace tapml::models {

namespace {

constexpr int64_t kPadding = 1;  // its token in published models

EncoderModel roberta_model(const char* architecture, int64_t vocabulary,
                           const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderDefaults defaults = kBertDefaults;
  defaults.vocabulary = vocabulary;
  BertConfig c = read_bert_config(json, defaults, notes);
  c.prefix = "roberta";
  // The position of the padding token is its own id, and those of a text's tokens follow.
  c.first_position = int_or_default(json, "pad_token_id", kPadding, 0, kMaxVocabulary, notes) + 1;
  c.context -= c.first_position;
  if (c.context < 1) {
    throw_error(
        json.field_error("max_position_embeddings", "leaves no position for a token",
                         "more than pad_token_id + 1 = " + std::to_string(c.first_position)));
  }
  EncoderModel model = bert_model(architecture, c);
  for (const char* name : {"bias", "decoder.bias", "decoder.weight", "dense.bias", "dense.weight",
                           "layer_norm.bias", "layer_norm.weight"}) {
    model.unused.push_back(std::string("lm_head.") + name);
  }
  return model;
}

}  // namespace

EncoderModel roberta::read(const JsonObjectReader& json, ConfigNotes& notes) {
  return roberta_model("roberta", 50265, json, notes);
}

EncoderModel roberta::read_xlm(const JsonObjectReader& json, ConfigNotes& notes) {
  return roberta_model("xlm-roberta", 30522, json, notes);
}

EncoderModel roberta::read_camembert(const JsonObjectReader& json, ConfigNotes& notes) {
  return roberta_model("camembert", 30522, json, notes);
}

}  // namespace tapml::models
