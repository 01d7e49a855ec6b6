#include "fuzz/campaign/worker.h"

#include <chrono>

#include "base/strings.h"
#include "fuzz/campaign/finding.h"
#include "fuzz/campaign/json_fields.h"
#include "fuzz/generate/disrupt.h"
#include "fuzz/language/constructs.h"
#include "fuzz/language/patterns.h"
#include "fuzz/oracles/refusal.h"
#include "fuzz/reduce/bisect.h"
#include "fuzz/reduce/reduce.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "rpc/transport/process_limits.h"

namespace tapml::fuzz {

namespace {

// The time in which a process starts.
constexpr double kStartSeconds = 60;
// How the note of a variant begins (Oracles::begins).
constexpr const char* kVariant = "variant ";

// The worker's side.
class Server {
 public:
  Server(LineChannel& channel, const Devices& devices) : channel_(channel), devices_(devices) {}

  // False if the other side has ended.
  bool answer_one() {
    const Result<Json> request = channel_.receive();
    if (!request) return false;
    const std::string& what = text_at(*request, "do");
    Json reply;
    const Status done = guard([&] { reply = answer(what, *request); });
    if (!done) {
      reply = Json::object({{"error", Json::string(done.error().to_string())}});
    }
    return channel_.send(reply).has_value();
  }

 private:
  Json answer(const std::string& what, const Json& request) {
    if (what == "configure") return configure(request);
    if (what == "cover") {
      snapshot_.merge(unwrap(Coverage::parse(text_at(request, "keys"), "keys")));
      return done();
    }
    if (what == "test") return test(seed_at(request, "seed"));
    if (what == "check") {
      const Finding finding = load_finding(text_at(request, "folder"));
      if (!finding.expected.empty()) {
        Checked checked;
        checked.problem = refusal_problem(
            {finding.program.module, finding.problem.stage, "", finding.expected, {}});
        return checked_json(checked);
      }
      return checked_json(oracles_->check_again(finding.program, finding.problem));
    }
    if (what == "save") return save(request);
    if (what == "reduce") return reduce_finding(request);
    throw_user("unknown request " + what);
  }

  static Json done() { return Json::object({{"done", Json::boolean(true)}}); }

  Json configure(const Json& request) {
    options_ = WorkerOptions::from_json(request);
    rpc::limit_process_memory(options_.memory_bytes);
    oracles_.emplace(oracle_options());
    oracles_->begins = [this](const std::string& part) {
      channel_.send(Json::object({{"part", Json::string(part)}}));
    };
    return done();
  }

  OracleOptions oracle_options() const {
    return {.targets = options_.targets,
            .devices = devices_,
            .native = options_.native,
            .others = options_.others,
            .mutants = options_.mutants,
            .depth = options_.depth,
            .variants = options_.variants};
  }

  static Json checked_json(const Checked& checked) {
    Json json = Json::object({{"done", Json::boolean(true)},
                              {"valid", Json::boolean(checked.valid)},
                              {"refused", Json::boolean(checked.refused)},
                              {"finite", Json::boolean(checked.finite)},
                              {"native", Json::boolean(checked.native)},
                              {"mutated", Json::boolean(checked.mutated)},
                              {"variant", Json::boolean(!checked.variant.empty())},
                              {"of_mutant", Json::boolean(checked.of_mutant)}});
    json.set("elements", Json::integer(checked.tally.all));
    json.set("open_elements", Json::integer(checked.tally.open));
    if (!checked.valid) json.set("invalid", Json::string(checked.invalid));
    if (checked.problem) json.set("problem", checked.problem->json());
    std::vector<Json> features;
    for (const std::string& feature : checked.features) features.push_back(Json::string(feature));
    json.set("features", Json::array(std::move(features)));
    return json;
  }

  Disrupted disrupted(uint64_t seed) const {
    return disrupt(seed, snapshot_, {options_.generate.policy, options_.generate.operators});
  }

  Json test_disrupted(uint64_t seed) {
    const Disrupted program = disrupted(seed);
    channel_.send(Json::object({{"added", Json::string(program.added.text())}}));
    Checked checked;
    checked.problem = refusal_problem(program);
    return checked_json(checked);
  }

  Json test(uint64_t seed) {
    if (options_.disruptive) return test_disrupted(seed);
    const Generated generated = generate(seed, snapshot_, options_.generate);
    channel_.send(Json::object({{"added", Json::string(generated.added.text())},
                                {"language", Json::boolean(generated.language)},
                                {"operators", Json::integer(generated.operators)}}));
    Checked checked;
    const auto unmatched = patterns_without_match(generated.program.module);
    if (unmatched.empty()) {
      checked = oracles_->check(generated.program, seed, generated.value);
    } else {
      checked.valid = false;
      checked.invalid = "the program has no part that matches " + join(unmatched);
    }
    checked.features.merge(constructs_of(generated.program.module));
    return checked_json(checked);
  }

  Json save(const Json& request) {
    const uint64_t seed = seed_at(request, "seed");
    Finding finding;
    if (options_.disruptive) {
      Disrupted program = disrupted(seed);
      finding.program.module = std::move(program.module);
      finding.expected = std::move(program.expected);
    } else {
      finding.program = generate(seed, snapshot_, options_.generate).program;
    }
    if (flag_at(request, "of_mutant")) {
      auto mutant = mutant_of(finding.program, seed, options_.depth, &finding.mutations);
      if (mutant) finding.program = std::move(*mutant);
    }
    finding.problem = Problem::from_json(*request.find("problem"));
    finding.targets = options_.targets;
    finding.seed = seed;
    finding.index = seed_at(request, "index");
    finding.coverage = text_at(request, "coverage");
    save_finding(finding, text_at(request, "folder"));
    return done();
  }

  Json reduce_finding(const Json& request) {
    const std::string& folder = text_at(request, "folder");
    oracles_->begins = {};
    const Finding finding = load_finding(folder);
    ReduceOptions reduction;
    reduction.seconds = number_at(request, "seconds", 10);
    reduction.check = [&](const Program& candidate, const Problem& problem) {
      return oracles_->check_again(candidate, problem).problem;
    };
    const Reduced reduced = reduce(finding.program, finding.problem, reduction);
    const Bisection guilty = bisect(reduced.program, reduced.problem, oracle_options());
    const FinalForm form = finish_finding(finding, reduced, guilty, folder);
    std::vector<Json> called;
    for (const std::string& name : form.called) called.push_back(Json::string(name));
    return Json::object({{"cause", Json::string(form.problem.signature())},
                         {"pass", Json::string(guilty.pass)},
                         {"called", Json::array(std::move(called))},
                         {"operators", Json::integer(reduced.operators)}});
  }

  LineChannel& channel_;
  const Devices& devices_;
  WorkerOptions options_;
  Coverage snapshot_;
  std::optional<Oracles> oracles_;
};

}  // namespace

Json WorkerOptions::json() const {
  std::vector<Json> names;
  for (const std::string& target : targets) names.push_back(Json::string(target));
  return Json::object({{"policy", Json::string(policy_name(generate.policy))},
                       {"operators", Json::integer(generate.operators)},
                       {"disruptive", Json::boolean(disruptive)},
                       {"language", Json::number(generate.language)},
                       {"targets", Json::array(std::move(names))},
                       {"native", Json::number(native)},
                       {"others", Json::number(others)},
                       {"mutants", Json::number(mutants)},
                       {"depth", Json::integer(depth)},
                       {"variants", Json::number(variants)},
                       {"memory", Json::integer(memory_bytes)}});
}

WorkerOptions WorkerOptions::from_json(const Json& json) {
  WorkerOptions options;
  options.generate.policy = policy_of(text_at(json, "policy")).value_or(Policy::kPublished);
  options.generate.operators = static_cast<int>(number_at(json, "operators", 10));
  options.disruptive = flag_at(json, "disruptive");
  options.generate.language = number_at(json, "language", 0);
  options.native = number_at(json, "native");
  options.others = number_at(json, "others", 1);
  options.mutants = number_at(json, "mutants");
  options.depth = static_cast<int>(number_at(json, "depth", 1));
  options.variants = number_at(json, "variants");
  options.memory_bytes = static_cast<int64_t>(number_at(json, "memory"));
  options.targets.clear();
  if (const Json* targets = json.find("targets")) {
    for (const Json& target : targets->items()) options.targets.push_back(target.as_string());
  }
  return options;
}

void serve_worker(LineChannel& channel, const Devices& devices) {
  Server server(channel, devices);
  while (server.answer_one()) {
  }
}

void Worker::set_coverage(const Coverage* snapshot, const Coverage& added) {
  snapshot_ = snapshot;
  if (!process_ || added.size() == 0) return;
  if (!ask(Json::object({{"do", Json::string("cover")}, {"keys", Json::string(added.text())}}),
           seconds_)) {
    restart();
  }
}

std::string Worker::restart() {
  if (!process_) return "";
  std::string how = process_->end();
  process_.reset();
  return how;
}

Status Worker::ensure() {
  if (process_) return {};
  TAPML_ASSIGN(process_, WorkerProcess::start(command_));
  Json configure = options_.json();
  configure.set("do", Json::string("configure"));
  TAPML_TRY(ask(configure, kStartSeconds));
  if (snapshot_ && snapshot_->size() > 0) {
    TAPML_TRY(ask(
        Json::object({{"do", Json::string("cover")}, {"keys", Json::string(snapshot_->text())}}),
        kStartSeconds));
  }
  return {};
}

// The last line of the answer; notes of parts come before it.
Result<Json> Worker::ask(const Json& request, double seconds) {
  TAPML_TRY(process_->channel().send(request));
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  while (true) {
    TAPML_ASSIGN(Json line, process_->channel().receive(deadline));
    if (const Json* part = line.find("part")) {
      note(part->as_string());
      continue;
    }
    return line;
  }
}

void Worker::note(const std::string& part) {
  part_ = part;
  if (part.starts_with(kVariant)) variant_ = part.substr(std::string_view(kVariant).size());
  if (part == "program" || part == "mutant") variant_.clear();
}

Problem Worker::ended(const Error& error, double seconds) {
  Problem problem{ProblemKind::kHang, part_.empty() ? "generate" : part_, "", ""};
  if (part_ == "mutant" || part_.starts_with(kVariant)) problem.stage = "program";
  problem.variant = variant_;
  if (error.fault == PlatformFault::kTimeout) {
    problem.message = "no result within " + std::to_string(static_cast<int>(seconds)) + " s";
    restart();
    return problem;
  }
  problem.kind = ProblemKind::kCrash;
  problem.message = "the process ended with " + restart();
  return problem;
}

Tested Worker::test(uint64_t seed, double patience) {
  Tested tested;
  if (Status started = ensure(); !started) throw_error(started.error());
  part_.clear();
  variant_.clear();
  tested.done = true;
  const double seconds = patience * seconds_;
  Result<Json> reply =
      ask(Json::object({{"do", Json::string("test")}, {"seed", seed_json(seed)}}), seconds);
  if (reply && reply->find("added")) {
    const Json* operators = reply->find("operators");
    tested.operators = operators ? static_cast<int>(operators->as_integer()) : 0;
    tested.language = flag_at(*reply, "language");
    if (auto added = Coverage::parse(text_at(*reply, "added"), "added")) tested.added = *added;
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
    bool mutant = false;
    do {
      reply = process_->channel().receive(deadline);
      if (reply && reply->find("part")) {
        note(text_at(*reply, "part"));
        mutant |= part_ == "mutant";
      }
    } while (reply && reply->find("part"));
    tested.of_mutant = mutant;
  }
  if (!reply) {
    tested.problem = ended(reply.error(), seconds);
    return tested;
  }
  if (reply->find("error")) {
    tested.problem = Problem{ProblemKind::kInternal, "generate", "", text_at(*reply, "error")};
    return tested;
  }
  tested.valid = flag_at(*reply, "valid");
  tested.refused = flag_at(*reply, "refused");
  tested.finite = flag_at(*reply, "finite");
  tested.native = flag_at(*reply, "native");
  tested.mutated = flag_at(*reply, "mutated");
  tested.variant = flag_at(*reply, "variant");
  tested.of_mutant = flag_at(*reply, "of_mutant");
  tested.tally = {static_cast<int64_t>(number_at(*reply, "open_elements")),
                  static_cast<int64_t>(number_at(*reply, "elements"))};
  tested.invalid = text_at(*reply, "invalid");
  if (const Json* features = reply->find("features")) {
    for (const Json& feature : features->items()) tested.features.push_back(feature.as_string());
  }
  if (const Json* problem = reply->find("problem")) tested.problem = Problem::from_json(*problem);
  return tested;
}

std::optional<Problem> Worker::check(const std::string& folder) {
  if (Status started = ensure(); !started) throw_error(started.error());
  part_.clear();
  variant_.clear();
  const Result<Json> reply = ask(
      Json::object({{"do", Json::string("check")}, {"folder", Json::string(folder)}}), seconds_);
  if (!reply) return ended(reply.error(), seconds_);
  if (reply->find("error")) return std::nullopt;
  const Json* problem = reply->find("problem");
  return problem ? std::optional(Problem::from_json(*problem)) : std::nullopt;
}

Status Worker::save(uint64_t seed, bool of_mutant, uint64_t index, const std::string& coverage,
                    const Problem& problem, const std::string& folder) {
  TAPML_TRY(ensure());
  const Result<Json> reply = ask(Json::object({{"do", Json::string("save")},
                                               {"seed", seed_json(seed)},
                                               {"index", seed_json(index)},
                                               {"of_mutant", Json::boolean(of_mutant)},
                                               {"coverage", Json::string(coverage)},
                                               {"problem", problem.json()},
                                               {"folder", Json::string(folder)}}),
                                 seconds_);
  if (!reply) {
    restart();
    return fail(reply.error());
  }
  if (reply->find("error")) {
    return fail(internal_error("a finding cannot be saved: " + text_at(*reply, "error"), folder));
  }
  return {};
}

Result<Worker::Outcome> Worker::reduce(const std::string& folder, double seconds) {
  TAPML_TRY(ensure());
  const Result<Json> reply = ask(Json::object({{"do", Json::string("reduce")},
                                               {"folder", Json::string(folder)},
                                               {"seconds", Json::number(seconds)}}),
                                 2 * seconds + seconds_);
  // Its oracles no longer note their parts.
  restart();
  if (!reply) return fail(reply.error());
  if (reply->find("error")) return fail(internal_error(text_at(*reply, "error"), folder));
  Outcome outcome{text_at(*reply, "cause"),
                  text_at(*reply, "pass"),
                  {},
                  static_cast<int>(number_at(*reply, "operators"))};
  if (const Json* called = reply->find("called")) {
    for (const Json& name : called->items()) outcome.called.insert(name.as_string());
  }
  return outcome;
}

}  // namespace tapml::fuzz
