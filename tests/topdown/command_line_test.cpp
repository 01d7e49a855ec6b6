// Commands that reports print, to be pasted into a shell.
#include "topdown/report/command_line.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"
#include "topdown/wrong_migration.h"

namespace tapml::topdown {
namespace {

TEST(CommandLine, QuotesEveryWordAndRepeatsTheOptions) {
  CommandOptions options;
  options.quantize = "q4f32";
  options.features = "sound.npy";
  options.embeddings = {"one.npy@3", "two.npy"};
  options.max_tokens = 2;
  options.patterns = "it's.txt";
  options.kernels = "own kernels";
  options.tolerance = "loose.json";
  options.libraries = {"a.so", "b.so"};
  options.token_file = "token";
  options.tls_ca = "ca.pem";
  options.insecure = true;
  options.kernel_seconds = 0.5;
  options.faults = {"a_1:crash", "b_:hang"};
  EXPECT_EQ(
      model_command("localize", "models/demo", "cpu", "opencl@pipe:ssh board", "Emma", options),
      "tapml localize 'models/demo' --quantize 'q4f32' --features 'sound.npy' --embeddings "
      "'one.npy@3' --embeddings 'two.npy' --from 'cpu' --to "
      "'opencl@pipe:ssh board' --prompt 'Emma' --max-tokens 2 --patterns 'it'\\''s.txt' "
      "--library 'a.so' --library 'b.so' --custom-kernels 'own kernels' --tolerance 'loose.json' "
      "--token-file 'token' --tls-ca 'ca.pem' --insecure --kernel-timeout 0.5 "
      "--inject-fault 'a_1:crash' --inject-fault 'b_:hang'");
  // Nothing ends a call in this process.
  options.in_process = true;
  EXPECT_NE(model_command("localize", "m", "cpu", "cpu", "Emma", options)
                .find("'ca.pem' --insecure --in-process --inject-fault"),
            std::string::npos);
  KernelVerdict own = verdict_in_two_layers("b_2", 0, 40);
  own.provider = "user:kernels/b.cl";
  CommandOptions rest;
  rest.kernels = "own kernels";
  rest.model = "models/demo";
  rest.faults = options.faults;
  EXPECT_EQ(replay_command("b_2/suite", "cpu", "", options_of_reproducer(rest, own, "b_2/kernels")),
            "tapml replay 'b_2/suite' --target 'cpu' --custom-kernels 'b_2/kernels' --inject-fault "
            "'b_:hang'");
  EXPECT_EQ(replay_command("suite", "cpu", "c_3", options_of_kernel(rest, "c_3")),
            "tapml replay 'suite' --target 'cpu' --kernel 'c_3' --model 'models/demo' "
            "--custom-kernels 'own kernels'");
  rest.launches.launches = 100;
  rest.launches.seed = 3;
  EXPECT_EQ(replay_command("suite", "cpu", "c_3", options_of_kernel(rest, "c_3")),
            "tapml replay 'suite' --target 'cpu' --kernel 'c_3' --model 'models/demo' "
            "--launches 100 --launch-seed 3 --custom-kernels 'own kernels'");
  // A fault is kept if its pattern matches the kernel.
  rest.faults = {"*_3:crash", "d*:hang"};
  EXPECT_EQ(options_of_kernel(rest, "c_3").faults, std::vector<std::string>{"*_3:crash"});
}

TEST(CommandLine, HasAbsolutePathsForAnotherFolder) {
  const testing::TempFolder folder;
  std::filesystem::create_directory(folder / "a@1");
  const std::string image = folder / "image.npy", other = folder / "a@1/image.npy";
  for (const std::string& file : {image, other}) std::ofstream(file) << "rows";
  const auto relative = [](const std::string& path) {
    return std::filesystem::relative(path).string();
  };
  CommandOptions options;
  options.features = relative(image);
  options.embeddings = {relative(image), relative(image) + "@12", relative(other),
                        relative(other) + "@7", "absent.npy@3"};
  const CommandOptions whole = with_absolute_paths(options);
  EXPECT_EQ(whole.features, image);
  EXPECT_EQ(whole.embeddings,
            (std::vector<std::string>{image, image + "@12", other, other + "@7", "absent.npy@3"}));
}

}  // namespace
}  // namespace tapml::topdown
