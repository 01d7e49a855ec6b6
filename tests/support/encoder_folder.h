// A model folder of a golden encoder, with a tokenizer whose words are its tokens.
#pragma once

#include <string>
#include <vector>

#include "io/host/files.h"
#include "io/safetensors.h"
#include "support/golden_encoders.h"
#include "support/temp_folder.h"

namespace tapml::testing {

// "t0" to "t210": each word is a token.
inline std::string word_tokenizer(int64_t vocabulary) {
  Json vocab = Json::object();
  for (int64_t id = 0; id < vocabulary; ++id) {
    vocab.set("t" + std::to_string(id), Json::integer(id));
  }
  const Json model = Json::object(
      {{"type", Json::string("WordPiece")}, {"unk_token", Json::string("t0")}, {"vocab", vocab}});
  const Json words = Json::object({{"type", Json::string("WhitespaceSplit")}});
  return Json::object(
             {{"version", Json::string("1.0")}, {"pre_tokenizer", words}, {"model", model}})
      .dump();
}

// Writes the configuration, the random weights and such a tokenizer into a folder.
inline void write_encoder(const std::string& config, const GoldenModel& golden,
                          const std::string& folder) {
  unwrap(write_text_atomic(folder + "/config.json", config));
  unwrap(
      write_text_atomic(folder + "/tokenizer.json", word_tokenizer(golden.interface().vocabulary)));
  unwrap(write_file_atomic(folder + "/model.safetensors", write_safetensors(golden.model.weights)));
}

inline std::string golden_config(const std::string& name) {
  return unwrap(read_text_file(golden_path("embeddings/" + name + "/config.json")));
}

// The golden texts in words.
inline std::vector<std::string> golden_words(const GoldenModel& golden) {
  std::vector<std::string> texts;
  for (const auto& tokens : golden_texts(golden)) {
    std::string& text = texts.emplace_back();
    for (const int32_t id : tokens) text += (text.empty() ? "t" : " t") + std::to_string(id);
  }
  return texts;
}

class EncoderFolder {
 public:
  // `name`: of a folder in tests/golden/embeddings.
  explicit EncoderFolder(const std::string& name) : golden_(golden_encoder(name, {})) {
    write_encoder(golden_config(name), golden_, folder_.path());
  }
  // With matrices that can be quantized: the golden vectors are then those of another model.
  static EncoderFolder quantizable(const std::string& name) {
    std::string config = golden_config(name);
    const std::string odd = "\"intermediate_size\": 80";
    if (const size_t at = config.find(odd); at != std::string::npos) {
      config.replace(at, odd.size(), "\"intermediate_size\": 96");
    }
    return {name, config};
  }

  const std::string& path() const { return folder_.path(); }
  const GoldenModel& golden() const { return golden_; }
  const std::vector<std::string>& texts() const { return texts_; }
  // --text T for each of them.
  std::vector<std::string> text_options() const {
    std::vector<std::string> options;
    for (const std::string& text : texts_) options.insert(options.end(), {"--text", text});
    return options;
  }

 private:
  EncoderFolder(const std::string& name, const std::string& config)
      : golden_(golden_encoder(name, {})) {
    golden_.model.config = frontend::parse_config(config, "config.json");
    golden_.model.module = golden_.model.config.module({.fallback = golden_.model.config.dtype});
    golden_.model.weights.clear();
    add_random_weights(golden_);
    write_encoder(config, golden_, folder_.path());
  }

  GoldenModel golden_;
  TempFolder folder_;
  std::vector<std::string> texts_ = golden_words(golden_);
};

}  // namespace tapml::testing
