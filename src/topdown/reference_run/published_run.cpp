#include "topdown/reference_run/published_run.h"

#include <filesystem>

#include "base/printable.h"
#include "base/strings.h"
#include "io/host/command.h"
#include "io/host/files.h"
#include "io/host/scratch_folder.h"
#include "io/json_reader.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "topdown/reference_run/published_program.h"

namespace tapml::topdown {

namespace {

constexpr size_t kShownOutput = 2000;  // bytes

Json request_json(const PublishedRequest& request, const std::string& output) {
  Json tokens = Json::array(), paths = Json::array();
  for (const int32_t token : request.tokens) tokens.push(Json::integer(token));
  for (const std::string& path : request.paths) paths.push(Json::string(path));
  Json pooling;
  if (request.pooling) {
    const bool is_mean = request.pooling->pooling == models::Pooling::kMean;
    pooling = Json::object({{"mode", Json::string(is_mean ? "mean" : "cls")},
                            {"normalized", Json::boolean(request.pooling->normalized)}});
  }
  return Json::object({{"folder", Json::string(std::filesystem::absolute(request.folder).string())},
                       {"tokens", std::move(tokens)},
                       {"paths", std::move(paths)},
                       {"parameters", Json::integer(request.parameters)},
                       {"pooling", std::move(pooling)},
                       {"output", Json::string(output)}});
}

// The last lines, where Python prints what went wrong.
std::string end_of(const std::string& output) {
  const size_t first = output.size() > kShownOutput ? output.size() - kShownOutput : 0;
  std::string end = output.substr(first);
  while (!end.empty() && end.back() == '\n') end.pop_back();
  return end.empty() ? "it printed nothing" : printable(end);
}

[[noreturn]] void fail_with(const CommandResult& result, const std::string& python,
                            const PublishedRequest& request) {
  if (result.exit_code == kNoPublishedPackages) {
    throw_user("PyTorch and transformers are not installed for " + in_quotes(python), "--python",
               "a Python that imports torch and transformers", end_of(result.output),
               in_quotes(python) +
                   " -m pip install torch transformers, or --python PROGRAM for a Python that has "
                   "them");
  }
  throw_user("the published implementation does not run this model",
             request.name.empty() ? request.folder : request.name,
             "a model that transformers loads and runs",
             "exit code " + std::to_string(result.exit_code) + ": " + end_of(result.output),
             "see whether transformers supports the model, and whether the memory is enough");
}

std::string text_of(const SafetensorsFile& file, const char* key) {
  const auto it = file.metadata.find(key);
  return it == file.metadata.end() ? "" : it->second;
}

}  // namespace

PublishedRun run_published(const PublishedRequest& request) {
  const std::string python = request.python.empty() ? kDefaultPython : request.python;
  const ScratchFolder folder = unwrap(ScratchFolder::create("published"));
  const std::string program = folder.file("published.py"), wanted = folder.file("request.json"),
                    output = folder.file("output.safetensors");
  unwrap(write_text_atomic(program, kPublishedProgram));
  unwrap(write_text_atomic(wanted, request_json(request, output).dump()));
  const auto result = run_command({python, program, wanted}, request.longest, request.cancelled);
  if (!result) {
    if (result.error().kind != ErrorKind::kPlatform ||
        result.error().fault != PlatformFault::kAbsent) {
      throw_error(result.error());
    }
    throw_user(result.error().message, "--python", "a Python that imports torch and transformers",
               in_quotes(python));
  }
  std::error_code ignored;
  if (result->exit_code != 0 || !std::filesystem::exists(output, ignored)) {
    fail_with(*result, python, request);
  }
  const MappedFile mapped = unwrap(map_file(output));
  SafetensorsFile file = unwrap(
      parse_safetensors(mapped.bytes, mapped.owner, "the published implementation's output"));
  PublishedRun run{.implementation = text_of(file, "implementation"),
                   .class_name = text_of(file, "class"),
                   .dtype = text_of(file, "dtype"),
                   .missing = {},
                   .tensors = {}};
  const Json missing =
      unwrap(parse_json(text_of(file, "missing"), "the published implementation's output"));
  for (const Json& name : missing.items()) run.missing.push_back(name.as_string());
  run.tensors = std::move(file.tensors);
  return run;
}

}  // namespace tapml::topdown
