// What the text of a decoder begins with that follows an encoder, such as Whisper's: in place of
// the special tokens of a tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapml::frontend {

// The tokens of a generation_config.json: "decoder_start_token_id", then of a model of several
// languages ("lang_to_id", "task_to_id") those of "language" (default English) and "task" (default
// "transcribe"), else those that "forced_decoder_ids" puts there, then "no_timestamps_token_id".
// Empty without a start token. UserError for fields that are not of this form.
std::vector<int32_t> parse_decoder_prefix(std::string_view text, const std::string& source);

// The same of a model folder's file; empty if there is none.
std::vector<int32_t> read_decoder_prefix(const std::string& folder);

}  // namespace tapml::frontend
