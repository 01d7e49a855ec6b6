// The grammar of an answer, from a file.
#pragma once

#include <memory>
#include <string>

#include "llm/grammar/grammar.h"

namespace tapml::app {

struct GrammarOptions {
  std::string grammar_file;  // in the notation of llm/grammar/grammar.h
  std::string schema_file;   // a JSON schema

  // Null if neither file is given. UserError for both, for a file that cannot be read, and as
  // llm::Grammar::parse() and llm::schema_grammar().
  std::shared_ptr<const llm::Grammar> read() const;
};

}  // namespace tapml::app
