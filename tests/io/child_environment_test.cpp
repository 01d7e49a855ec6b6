#include "io/host/child_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "io/host/command.h"

namespace tapml {
namespace {

TEST(ChildEnvironment, HasAllButSecrets) {
  ::setenv("TAPML_RPC_TOKEN", "secret", 1);
  ::setenv("TAPML_RPC_TOKENS", "kept", 1);
  const std::vector<char*> variables = child_environment();
  ASSERT_FALSE(variables.empty());
  EXPECT_EQ(variables.back(), nullptr);
  std::string all;
  for (size_t i = 0; i + 1 < variables.size(); ++i) all += std::string(variables[i]) + "\n";
  EXPECT_EQ(all.find("secret"), std::string::npos) << all;
  EXPECT_NE(all.find("TAPML_RPC_TOKENS=kept\n"), std::string::npos) << all;
  const auto result = run_command({"env"}, std::chrono::seconds(60));
  ::unsetenv("TAPML_RPC_TOKEN");
  ::unsetenv("TAPML_RPC_TOKENS");
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->output.find("secret"), std::string::npos);
  EXPECT_NE(result->output.find("TAPML_RPC_TOKENS=kept"), std::string::npos);
}

}  // namespace
}  // namespace tapml
