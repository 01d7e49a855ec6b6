// The counter-based generator against the values of its Python twin.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "support/golden_path.h"

namespace tapml {
namespace {

TEST(RngGoldenTest, EqualsPython) {
  auto text = read_text_file(testing::golden_path("rng.json"));
  ASSERT_TRUE(text) << text.error().to_string();
  auto cases = parse_json(*text, "rng.json");
  ASSERT_TRUE(cases) << cases.error().to_string();
  ASSERT_GE(cases->items().size(), 3u);
  for (const Json& item : cases->items()) {
    JsonObjectReader r(item, "rng.json");
    PhiloxKey key = philox_key(static_cast<uint64_t>(r.required_int("seed").value()),
                               r.required_string("name").value());
    auto words = r.required_int_array("words").value();
    const std::vector<Json>& units = *r.required_array("unit").value();
    EXPECT_EQ(r.required_int_array("key").value(), (std::vector<int64_t>{key[0], key[1]}));
    RandomStream drawn(key);
    for (int64_t word : words) EXPECT_EQ(drawn.next(), word);
    std::vector<float> uniform(units.size());
    fill_uniform(uniform, key);
    for (size_t i = 0; i < units.size(); ++i) EXPECT_EQ(uniform[i], units[i].as_double()) << i;
  }
}

}  // namespace
}  // namespace tapml
