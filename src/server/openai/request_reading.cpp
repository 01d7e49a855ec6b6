#include "server/openai/request_reading.h"

#include <algorithm>

namespace tapml::server {

namespace {

// Nothing for another form.
std::optional<Prompt> prompt_of(const Json& item) {
  if (item.is_string()) return item.as_string();
  const auto is_token = [](const Json& token) {
    return token.is_integer() && token.as_integer() >= 0 && token.as_integer() <= (1 << 30);
  };
  if (!item.is_array() || item.items().empty() || !std::ranges::all_of(item.items(), is_token)) {
    return std::nullopt;
  }
  std::vector<int32_t> tokens;
  for (const Json& token : item.items()) tokens.push_back(static_cast<int32_t>(token.as_integer()));
  return tokens;
}

}  // namespace

ApiResult<Json> parse_body(const std::string& body) {
  return checked(parse_json(body, kRequestSource, {.max_depth = 64, .max_values = 1 << 20}), "");
}

ApiResult<std::vector<Prompt>> read_prompts(const JsonObjectReader& reader,
                                            const std::string& member) {
  const Json* given = reader.find(member);
  if (!given) return refuse(member, "there is no \"" + member + "\"");
  if (auto one = prompt_of(*given)) return std::vector<Prompt>{*std::move(one)};
  std::vector<Prompt> prompts;
  for (const Json& item : given->items()) {
    if (auto one = prompt_of(item)) prompts.push_back(*std::move(one));
  }
  const bool is_good =
      given->is_array() && !prompts.empty() && prompts.size() == given->items().size();
  if (is_good) return prompts;
  return refuse(member, "\"" + member + "\" is a text, a list of token ids, or a list of these");
}

}  // namespace tapml::server
