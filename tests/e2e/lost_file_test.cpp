// Weights that are truncated while a command uses them: an error that names the file, and no
// result.
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

TEST(LostFile, ACarveWhoseWeightsAreCutIsIncomplete) {
  TempFolder folder;
  const std::string model = folder / "model", suite = folder / "suite";
  testing::copy_demo_model(model);
  const std::string weights = model + "/model.safetensors";
  ProgramOptions options;
  options.signal = 0;  // none: truncating the file is the event
  options.interrupt_when = [&] {
    std::error_code ignored;
    std::filesystem::directory_iterator entry(suite + "/tensors", ignored), end;
    if (ignored || std::distance(entry, end) < 20) return false;
    return ::truncate(weights.c_str(), 4096) == 0;
  };
  ProgramResult result = run_program({"carve", model, "--prompt", "Emma was", "--prompt",
                                      "In the beginning", "--max-tokens", "200", "-o", suite},
                                     options);
  EXPECT_EQ(result.exit_code, 2) << result.all();
  for (const std::string& part :
       {"a file changed while it was in use: " + weights, std::string("unchanged"),
        std::string("found: 4096 bytes"), std::string("work on a copy")}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.all();
  }
  ProgramResult listed = run_program({"suite", "ls", suite});
  EXPECT_TRUE(listed.out.starts_with("the suite is incomplete: ")) << listed.all();
}

}  // namespace
}  // namespace tapml
