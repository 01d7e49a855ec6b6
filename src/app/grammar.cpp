#include "app/grammar.h"

#include "io/host/files.h"
#include "io/json.h"
#include "ir/exceptions.h"
#include "llm/grammar/json_schema.h"

namespace tapml::app {

namespace {

constexpr int64_t kMostBytes = 1 << 20;

}  // namespace

std::shared_ptr<const llm::Grammar> GrammarOptions::read() const {
  if (grammar_file.empty() && schema_file.empty()) return nullptr;
  if (!grammar_file.empty() && !schema_file.empty()) {
    throw_user("an answer has one grammar", "--grammar", "one of --grammar and --json-schema",
               "both");
  }
  std::string file = grammar_file, text;
  if (file.empty()) {
    file = schema_file;
    const Json schema = unwrap(parse_json(unwrap(read_text_file(file, kMostBytes)), file));
    text = unwrap(llm::schema_grammar(schema, file));
  } else {
    text = unwrap(read_text_file(file, kMostBytes));
  }
  return std::make_shared<const llm::Grammar>(unwrap(llm::Grammar::parse(text, file)));
}

}  // namespace tapml::app
