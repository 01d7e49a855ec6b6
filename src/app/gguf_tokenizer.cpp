#include "app/gguf_tokenizer.h"

#include <algorithm>
#include <filesystem>

#include "app/end_tokens.h"
#include "base/log.h"
#include "base/strings.h"
#include "frontend/gguf/tokenizer.h"
#include "frontend/huggingface/folder.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "ir/exceptions.h"
#include "llm/chat_template.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/unicode_utf8proc.h"

namespace tapml::app {

namespace {

namespace fs = std::filesystem;

constexpr size_t kKeptEnds = 3;  // eos, eot and eom

// What tokenizers cut into words, bytes and characters in different ways.
constexpr const char* kTexts[] = {
    "Hello, world! It's 2026; we'll see 1234567 things, won't we?",
    "  two spaces,   three\tand a tab\n\nnew\r\nlines \n ",
    "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m \u4f60\u597d\uff0c\u4e16\u754c \u3053\u3093\u306b"
    "\u3061\u306f \u041f\u0440\u0438\u0432\u0435\u0442 \u0645\u0631\u062d\u0628\u0627",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u20ac 3.14159 \u00bd",
    "def f(x):\n    return x**2 + 0x1F  # a_b-c.d/e@f <tag a=\"b\"/>\n",
    " leading",
    "trailing ",
    "UPPER lower CamelCase I'M you'RE",
    "a"};

std::string file_text(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  return fs::exists(path) ? unwrap(read_text_file(path)) : std::string();
}

// chat_template.jinja, or the text, or the default of several, of tokenizer_config.json.
std::optional<std::string> chat_template_of(const std::string& folder) {
  if (std::string text = file_text(folder, llm::kChatTemplateFiles[0]); !text.empty()) return text;
  for (const char* name : {"tokenizer_config.json", llm::kChatTemplateFiles[1]}) {
    const std::string text = file_text(folder, name);
    if (text.empty()) continue;
    const Json json = unwrap(parse_json(text, folder + "/" + name));
    const Json* value = json.find("chat_template");
    if (value && value->is_string()) return value->as_string();
    if (!value || !value->is_array()) continue;
    for (const Json& one : value->items()) {
      const Json *label = one.find("name"), *content = one.find("template");
      if (label && content && label->as_string() == "default") return content->as_string();
    }
  }
  return std::nullopt;
}

// The id of the token that the files name for a role, or that config.json names.
std::optional<int32_t> id_of_role(const Json& special, const Json& config, const char* token,
                                  const Tokenizer& tokenizer) {
  if (const Json* text = special.find(token); text && text->is_string()) {
    if (const auto id = tokenizer.token_to_id(text->as_string())) return id;
  }
  const Json* id = config.find(std::string(token) + "_id");
  if (id && id->is_integer()) return static_cast<int32_t>(id->as_integer());
  return std::nullopt;
}

}  // namespace

frontend::GgufTokenizerSource gguf_tokenizer_source(const std::string& folder,
                                                    const Tokenizer& tokenizer) {
  frontend::GgufTokenizerSource source;
  source.source = frontend::tokenizer_path(folder);
  source.json = unwrap(read_text_file(source.source));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    source.tokens.emplace_back(tokenizer.id_to_token(id).value_or(""));
    source.special.push_back(tokenizer.is_special(id));
  }
  const Json special = unwrap(llm::read_special_tokens(folder));
  const std::string config_path = folder + "/config.json";
  const Json config =
      unwrap(parse_json(unwrap(read_text_file(config_path)), config_path, {.infinities = true}));
  for (const auto& [role, token] :
       {std::pair{"bos", "bos_token"}, std::pair{"unknown", "unk_token"},
        std::pair{"padding", "pad_token"}}) {
    if (const auto id = id_of_role(special, config, token, tokenizer)) source.roles[role] = *id;
  }
  source.ends = read_end_tokens(folder);
  if (const auto end = id_of_role(special, config, "eos_token", tokenizer)) {
    const auto same = std::ranges::find(source.ends, *end);
    if (same != source.ends.end()) source.ends.erase(same);
    source.ends.insert(source.ends.begin(), *end);
  }
  if (source.ends.size() > kKeptEnds) {
    log_warning("the model has " + std::to_string(source.ends.size()) +
                " tokens that end a text; the file names the first " + std::to_string(kKeptEnds));
  }
  const std::vector<int32_t> plain = unwrap(tokenizer.encode("a", false));
  const std::vector<int32_t> whole = unwrap(tokenizer.encode("a", true));
  const auto bos = source.roles.find("bos");
  source.adds_bos = bos != source.roles.end() && whole.size() > plain.size() &&
                    whole.front() == bos->second && plain.front() != bos->second;
  source.adds_eos = !source.ends.empty() && whole.size() > plain.size() &&
                    whole.back() == source.ends.front() && plain.back() != source.ends.front();
  source.chat_template = chat_template_of(folder);
  return source;
}

void check_same_tokens(const GgufFile& file, const Tokenizer& tokenizer,
                       const std::string& source) {
  const std::string written = "the exported file";
  const frontend::GgufFields fields(file, written);
  const tokenizer::TokenizerFiles files{
      .config = {frontend::gguf_tokenizer_config(fields), written},
      .special_tokens = {},
      .added_tokens = {}};
  const Tokenizer read = unwrap(Tokenizer::parse(frontend::gguf_tokenizer(fields), written,
                                                 tokenizer::pcre2_regex_engine(),
                                                 &tokenizer::utf8proc_tables(), files));
  for (const char* text : kTexts) {
    const auto before = unwrap(tokenizer.encode(text)), after = unwrap(read.encode(text));
    if (before == after) continue;
    const auto list = [](const std::vector<int32_t>& ids) {
      return join(ids, [](int32_t id) { return std::to_string(id); }).substr(0, 200);
    };
    throw_user(source + ": the tokenizer has no form in GGUF files: " + in_quotes(text) +
                   " becomes other tokens",
               source, list(before), list(after));
  }
}

}  // namespace tapml::app
