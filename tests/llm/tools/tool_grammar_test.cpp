#include "llm/tools/tool_grammar.h"

#include <gtest/gtest.h>

namespace tapml::llm {
namespace {

TEST(CallForm, TheFormIsThatOfThePrompt) {
  EXPECT_EQ(call_form_of("... within <tool_call></tool_call> tags"), CallForm::kTagged);
  EXPECT_EQ(call_form_of("[AVAILABLE_TOOLS] [{...}][/AVAILABLE_TOOLS]"), CallForm::kList);
  EXPECT_EQ(call_form_of("{\"name\": function name, \"parameters\": ...}"), CallForm::kObject);
}

}  // namespace
}  // namespace tapml::llm
