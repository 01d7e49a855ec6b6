// Reads the tokenizer of a model's files.
#pragma once

#include <string>

#include "io/file_source.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::tokenizer {

// What a tokenizer is read from.
inline constexpr const char* kTokenizerFiles[] = {"tokenizer.json",  "rwkv_vocab_v20230424.txt",
                                                  "tokenizer.model", "tiktoken.model",
                                                  "qwen.tiktoken",   "vocab.json"};
// The second file of a tokenizer that begins with vocab.json.
inline constexpr const char* kMergesFile = "merges.txt";
// The files next to it, which are optional.
inline constexpr const char* kTokenizerSettings[] = {
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"};

// The first of kTokenizerFiles that there is; tokenizer.json if there is none.
std::string tokenizer_file(const FileSource& files);

// Uses this platform's regular expressions and Unicode tables. UserError as for Tokenizer::parse,
// parse_rwkv and the others, and for a file that cannot be read.
Result<Tokenizer> read_tokenizer(const FileSource& files);

}  // namespace tapml::tokenizer
