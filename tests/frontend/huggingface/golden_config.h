// Golden configurations with another value of a field.
#pragma once

#include <string>
#include <vector>

#include "frontend/huggingface/config.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "models/decoder.h"
#include "support/expect_error.h"
#include "support/golden_path.h"
#include "text/printer.h"

namespace tapml::testing {

// `value` is JSON text.
inline std::string golden_config_with(const std::string& name, const std::string& key,
                                      const std::string& value) {
  const std::string path = golden_path("logits/" + name + "/config.json");
  Json json = unwrap(parse_json(unwrap(read_text_file(path)), path));
  json.set(key, *parse_json(value, "value"));
  return json.dump(2);
}

inline frontend::HuggingFaceConfig parse_golden_config(const std::string& text) {
  return frontend::parse_config(text, "config.json");
}

// The error names the field and has `parts`.
inline void refuses(const std::string& name, const std::string& key, const std::string& value,
                    const std::vector<std::string>& parts = {}) {
  std::vector<std::string> all = {key, "config.json"};
  all.insert(all.end(), parts.begin(), parts.end());
  expect_user_error([&] { parse_golden_config(golden_config_with(name, key, value)); }, all);
}

}  // namespace tapml::testing

namespace tapml::frontend {

// Short forms for tests with many fields.
using testing::refuses;
inline std::string changed(const std::string& name, const std::string& key,
                           const std::string& value) {
  return testing::golden_config_with(name, key, value);
}
inline HuggingFaceConfig parse_text(const std::string& text) {
  return testing::parse_golden_config(text);
}
inline std::string program_of(const std::string& config) {
  return text::print(models::build_decoder(parse_text(config).model, {}));
}

}  // namespace tapml::frontend
