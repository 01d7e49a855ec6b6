// Short templates against Jinja in the environment of transformers.
#include <gtest/gtest.h>

#include <fstream>

#include "io/host/files.h"
#include "support/golden_path.h"
#include "template/template.h"

namespace tapml::jinja {
namespace {

const std::string kFolder = testing::golden_path("templates/");

Json read_json(const std::string& name) {
  auto text = read_text_file(kFolder + name);
  return *parse_json(*text, name);
}

TEST(Constructs, EqualJinja) {
  const Json variables = read_json("variables.json");
  std::ifstream lines(kFolder + "constructs.jsonl");
  std::string line;
  int texts = 0, refused = 0;
  const RenderOptions options = {.now = 1736942400};
  while (std::getline(lines, line)) {
    const Json row = *parse_json(line, "constructs.jsonl");
    const std::string& source = row.find("template")->as_string();
    const Json& expected = *row.find("text");
    auto parsed = Template::parse(source, "t");
    Result<Rendered> rendered = parsed ? parsed->render(variables, options) : fail(parsed.error());
    if (expected.is_null()) {
      ++refused;
      EXPECT_FALSE(rendered) << source << "\ngives " << rendered->text;
      if (!rendered) {
        EXPECT_EQ(rendered.error().kind, ErrorKind::kUser) << rendered.error().to_string();
        EXPECT_TRUE(rendered.error().where.starts_with("t:")) << rendered.error().to_string();
      }
      continue;
    }
    ++texts;
    EXPECT_TRUE(rendered) << source << "\n" << rendered.error().to_string();
    if (!rendered) continue;
    EXPECT_EQ(rendered->text, expected.as_string()) << source;
  }
  EXPECT_GT(texts, 400);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace tapml::jinja
