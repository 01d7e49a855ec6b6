#include "fuzz/campaign/finding.h"

#include <filesystem>

#include "base/strings.h"
#include "fuzz/campaign/json_fields.h"
#include "fuzz/campaign/value_text.h"
#include "fuzz/oracles/variants.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {

namespace {

constexpr const char* kSide = "/side.safetensors";

}  // namespace

void save_finding(const Finding& finding, const std::string& folder) {
  unwrap(make_folder(folder));
  text::SideTensors side;
  unwrap(write_text_atomic(folder + "/program.txt", text::print(finding.program.module, &side)));
  unwrap(write_text_atomic(folder + "/inputs.txt",
                           text::print(values_module(finding.program.arguments), &side)));
  if (!side.empty()) {
    unwrap(write_file_atomic(folder + kSide, write_safetensors(side)));
  } else {
    std::error_code ignored;
    std::filesystem::remove(folder + kSide, ignored);
  }
  std::vector<Json> targets, expected;
  for (const std::string& target : finding.targets) targets.push_back(Json::string(target));
  for (const std::string& part : finding.expected) expected.push_back(Json::string(part));
  Json json = Json::object({{"problem", finding.problem.json()},
                            {"signature", Json::string(finding.problem.signature())},
                            {"targets", Json::array(std::move(targets))},
                            {"seed", seed_json(finding.seed)},
                            {"index", seed_json(finding.index)},
                            {"coverage", Json::string(finding.coverage)},
                            {"mutations", Json::string(finding.mutations)},
                            {"expected", Json::array(std::move(expected))},
                            {"replay", Json::string("tapml fuzz replay " + folder)}});
  // Last: a folder with this file is complete.
  unwrap(write_text_atomic(folder + "/finding.json", json.dump(2) + "\n"));
}

Finding load_finding(const std::string& folder) {
  const std::string file = folder + "/finding.json";
  const Json json = unwrap(parse_json(unwrap(read_text_file(file)), file));
  const Json* problem = json.find("problem");
  if (!problem || !problem->is_object() || !problem_kind_of(text_at(*problem, "kind"))) {
    throw_user("this is no finding", file, "a field 'problem' with a known 'kind'");
  }
  Finding finding;
  finding.problem = Problem::from_json(*problem);
  parse_variant(finding.problem.variant);
  finding.seed = seed_at(json, "seed");
  finding.index = seed_at(json, "index");
  finding.coverage = text_at(json, "coverage");
  finding.mutations = text_at(json, "mutations");
  if (const Json* targets = json.find("targets"); targets && targets->is_array()) {
    finding.targets.clear();
    for (const Json& target : targets->items()) finding.targets.push_back(target.as_string());
  }
  if (const Json* expected = json.find("expected"); expected && expected->is_array()) {
    for (const Json& part : expected->items()) finding.expected.push_back(part.as_string());
  }
  text::SideTensors side;
  if (std::filesystem::exists(folder + kSide)) {
    MappedFile mapped = unwrap(map_file(folder + kSide));
    side = unwrap(parse_safetensors(mapped.bytes, mapped.owner, folder + kSide)).tensors;
  }
  auto parsed = [&](const char* name) {
    const std::string path = folder + "/" + name;
    return text::parse(unwrap(read_text_file(path)), path, {.side = &side});
  };
  finding.program.module = parsed("program.txt");
  const auto* main = relax::as_relax_function(finding.program.module.find("main"));
  if (!main) throw_user("the program has no function 'main'", folder + "/program.txt");
  finding.program.arguments = values_of(parsed("inputs.txt"), folder + "/inputs.txt");
  return finding;
}

FinalForm finish_finding(const Finding& finding, const Reduced& reduced, const Bisection& guilty,
                         const std::string& folder) {
  Finding smaller = finding;
  smaller.program = reduced.program;
  smaller.problem = reduced.problem;
  save_finding(smaller, folder + "/reduced");
  FinalForm form{reduced.problem, called_operators(reduced.program.module)};
  form.problem.pass = guilty.pass;
  const Json pass = Json::object({{"pass", Json::string(guilty.pass)},
                                  {"reason", Json::string(guilty.reason)},
                                  {"cause", Json::string(form.problem.signature())},
                                  {"called", Json::string(join(form.called))},
                                  {"operators", Json::integer(reduced.operators)},
                                  {"candidates", Json::integer(reduced.tried)}});
  unwrap(write_text_atomic(folder + "/pass.json", pass.dump(2) + "\n"));
  if (!guilty.after.empty()) {
    unwrap(write_text_atomic(folder + "/before.txt", guilty.before));
    unwrap(write_text_atomic(folder + "/after.txt", guilty.after));
  }
  return form;
}

}  // namespace tapml::fuzz
