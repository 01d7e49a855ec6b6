#include "frontend/huggingface/decoder_prefix.h"

#include <filesystem>
#include <limits>

#include "io/host/files.h"
#include "io/json_reader.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr int64_t kMaxToken = std::numeric_limits<int32_t>::max();

// The token of `name` in the object `table`.
int32_t token_of(const JsonObjectReader& json, const char* table, const std::string& name) {
  const JsonObjectReader tokens = unwrap(json.required_object(table));
  return static_cast<int32_t>(unwrap(tokens.required_int(name, 0, kMaxToken)));
}

// "<|en|>" of "en" or "<|en|>".
std::string language_token(const std::string& language) {
  return language.starts_with("<|") ? language : "<|" + language + "|>";
}

// The tokens of [[1, token], [2, token], ...], up to the first one that the model chooses (null).
void add_forced(const JsonObjectReader& json, std::vector<int32_t>& prefix) {
  const char* key = "forced_decoder_ids";
  if (!json.has(key)) return;
  int64_t next = 1;
  for (const Json& pair : *unwrap(json.required_array(key))) {
    const bool is_pair =
        pair.is_array() && pair.items().size() == 2 && pair.items()[0].is_integer();
    if (is_pair && (pair.items()[0].as_integer() != next || pair.items()[1].is_null())) return;
    if (!is_pair || !pair.items()[1].is_integer() || pair.items()[1].as_integer() < 0 ||
        pair.items()[1].as_integer() > kMaxToken) {
      throw_error(json.item_error(pair, key + ("[" + std::to_string(next - 1)) + "]",
                                  "is not a position and a token", "two integers"));
    }
    prefix.push_back(static_cast<int32_t>(pair.items()[1].as_integer()));
    ++next;
  }
}

}  // namespace

std::vector<int32_t> parse_decoder_prefix(std::string_view text, const std::string& source) {
  const Json parsed = unwrap(parse_json(text, source));
  const JsonObjectReader json(parsed, source);
  unwrap(json.check_object());
  const auto start = unwrap(json.optional_int("decoder_start_token_id", 0, kMaxToken));
  if (!start) return {};
  std::vector<int32_t> prefix = {static_cast<int32_t>(*start)};
  if (json.has("lang_to_id")) {
    const std::string language = unwrap(json.string_or("language", "en"));
    prefix.push_back(token_of(json, "lang_to_id", language_token(language)));
    if (json.has("task_to_id")) {
      prefix.push_back(token_of(json, "task_to_id", unwrap(json.string_or("task", "transcribe"))));
    }
  } else {
    add_forced(json, prefix);
  }
  const auto last = unwrap(json.optional_int("no_timestamps_token_id", 0, kMaxToken));
  if (last && prefix.back() != *last) prefix.push_back(static_cast<int32_t>(*last));
  return prefix;
}

std::vector<int32_t> read_decoder_prefix(const std::string& folder) {
  const std::string path = folder + "/generation_config.json";
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::exists(path, ignored)) return {};
  return parse_decoder_prefix(unwrap(read_text_file(path, kMaxBytes)), path);
}

}  // namespace tapml::frontend
