// The grammar of the JSON documents that a JSON schema allows, for constrained answers.
#pragma once

#include <string>

#include "base/result.h"
#include "io/json.h"

namespace tapml::llm {

// The grammar, in the notation of llm/grammar/grammar.h, of any JSON document, or any object.
std::string json_grammar(bool objects_only);

// The grammar of a schema. It has these keywords: type (or a list of types), enum, const,
// properties, required, additionalProperties, items, prefixItems, minItems, maxItems, minLength,
// maxLength, anyOf, oneOf (as anyOf), $ref within the schema, $defs and definitions. Annotations
// (title, description, default, examples, ...) have no effect. Members of an object come in the
// order of the schema; without additionalProperties there are no others. A document has no blanks
// but one after a colon or a comma, or a line break with an indentation.
//
// UserError, which names the place, for other keywords, keywords of another type, a reference to
// nothing, and a schema that allows nothing.
Result<std::string> schema_grammar(const Json& schema, const std::string& source);

}  // namespace tapml::llm
