// The texts that an encoder reads, as options have them.
#pragma once

#include <string>
#include <vector>

#include "abi/model_interface.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::app {

struct EncoderTexts {
  std::vector<std::string> texts;
  std::string file;  // of further texts, one per line; empty: none

  bool given() const { return !texts.empty() || !file.empty(); }
};

// Texts with where they are from, for errors.
struct NamedTexts {
  std::vector<std::string> texts, names;
};
// All of them, without empty lines of the file. UserError for none, and for a file that cannot be
// read.
NamedTexts read_texts(const EncoderTexts& options);

// The token ids of each text. UserError as of llm::check_texts().
std::vector<std::vector<int32_t>> encode_texts(const Tokenizer& tokenizer,
                                               const ModelInterface& model,
                                               const NamedTexts& texts);

}  // namespace tapml::app
