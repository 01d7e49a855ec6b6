#include <gtest/gtest.h>

#include "abi/access.h"
#include "abi/attributes.h"

namespace tapml {
namespace {

TEST(AccessModeTest, NamesRoundTrip) {
  for (AccessMode mode : {AccessMode::kIn, AccessMode::kOut, AccessMode::kInOut,
                          AccessMode::kWorkspace, AccessMode::kPrepared}) {
    EXPECT_EQ(parse_access_mode(access_mode_name(mode)), mode);
  }
  EXPECT_STREQ(access_mode_name(AccessMode::kInOut), "inout");
  EXPECT_EQ(parse_access_mode("In"), std::nullopt);
}

TEST(AttributesTest, LookupByNameAndType) {
  AttrMap attrs = {{"axis", int64_t{2}}, {"eps", 1e-5}, {"dtype", DType::kBF16}};
  EXPECT_EQ(attr_or<int64_t>(attrs, "axis", 0), 2);
  EXPECT_EQ(attr_or<double>(attrs, "eps", 0), 1e-5);
  EXPECT_EQ(*find_attr<DType>(attrs, "dtype"), DType::kBF16);
  EXPECT_EQ(find_attr<double>(attrs, "axis"), nullptr);
  EXPECT_EQ(attr_or<bool>(attrs, "missing", true), true);
}

}  // namespace
}  // namespace tapml
