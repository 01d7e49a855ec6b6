#include "fuzz/external/external_campaign.h"

#include <algorithm>

#include "base/clock.h"
#include "base/strings.h"
#include "fuzz/campaign/finding.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "relax/visit.h"

namespace tapml::fuzz {

namespace {

op::RefTensor loosened(op::RefTensor tensor, double slack) {
  for (size_t i = 0; i < tensor.bound.size(); ++i) {
    if (tensor.bound[i] != 0) tensor.bound[i] *= slack;
  }
  return tensor;
}

std::set<std::string> names_of(const std::map<std::string, std::string>& steps) {
  std::set<std::string> names;
  for (const auto& [name, reason] : steps) names.insert(name);
  return names;
}

// The operators of a program, each once.
std::string operators_text(const Module& module) {
  std::set<std::string> names;
  for (const auto& [name, function] : module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (!graph) continue;
    relax::visit(graph->body, [&](const relax::Expr& part) {
      if (relax::as<relax::CallNode>(part)) names.insert(relax::called_operator(part));
    });
  }
  return join(names);
}

class ExternalCampaign {
 public:
  explicit ExternalCampaign(const ExternalOptions& options)
      : options_(options), adapter_(options.adapter), start_(seconds_now()) {
    result_.compiler = adapter_.version();
    unwrap(make_folder(options_.folder));
  }

  ExternalResult run() {
    for (uint64_t index = 0; !over(); ++index) {
      Generated generated =
          generate(program_seed(options_.seed, index), coverage_, options_.generate);
      coverage_.merge(generated.added);
      ++result_.tests;
      test(generated.program, index);
      result_.seconds = seconds_now() - start_;
      if (options_.progress) options_.progress(result_);
    }
    return std::move(result_);
  }

 private:
  bool cancelled() const { return options_.cancelled && options_.cancelled(); }
  bool over() const {
    return cancelled() || seconds_now() - start_ > options_.seconds ||
           (options_.tests > 0 && result_.tests >= options_.tests);
  }

  void test(const Program& program, uint64_t index) {
    StraightLine line;
    const Status expressed = guard([&] {
      line = straight_line(program);
      std::string ending;
      const auto cut = adapter_.inexpressible(line.document, &ending);
      if (!ending.empty()) test_alone(program, line, ending, index);
      result_.steps += std::ssize(line.document.find("steps")->items());
      for (const auto& [name, reason] : cut) ++result_.inexpressible[reason];
      if (!cut.empty()) line = straight_line(program, names_of(cut));
    });
    if (!expressed) {
      if (expressed.error().kind != ErrorKind::kUser) throw_error(expressed.error());
      ++result_.empty;
      return;
    }
    bool refused = false;
    const std::optional<Problem> problem = judge(line, &refused);
    if (!refused) ++result_.ran;
    if (problem) add_finding(line, *problem, index);
  }

  // A step that ends the process, with the reference's values as its operands.
  void test_alone(const Program& program, const StraightLine& line, const std::string& step,
                  uint64_t index) {
    std::set<std::string> others;
    for (const Json& other : line.document.find("steps")->items()) {
      const Json* whole = other.find("of");
      const std::string& name = (whole ? *whole : *other.find("name")).as_string();
      if (name != step) others.insert(name);
    }
    const StraightLine alone = straight_line(program, others);
    if (const auto problem = judge(alone)) add_finding(alone, *problem, index);
  }

  // What is wrong with the compiler's results.
  std::optional<Problem> judge(const StraightLine& line, bool* refused = nullptr) {
    const AdapterAnswer answer = adapter_.run(line.document);
    for (const FormResult& form : answer.forms) {
      const bool is_first = &form == &answer.forms.front();
      if (!form.error.empty()) {
        if (form.error.starts_with("Inexpressible")) return std::nullopt;  // a candidate's
        // The first form takes each step alone.
        if (is_first && refused) {
          *refused = true;
          ++result_.refused;
        }
        return Problem{ProblemKind::kRefusal, form.form, "", form.error};
      }
      const std::string different = difference_of(line, form);
      if (!different.empty()) return Problem{ProblemKind::kValues, form.form, "", different};
    }
    return answer.ended;
  }

  std::string difference_of(const StraightLine& line, const FormResult& form) {
    if (form.outputs.size() != line.expected.size()) {
      return std::to_string(form.outputs.size()) + " results in place of " +
             std::to_string(line.expected.size());
    }
    for (size_t i = 0; i < form.outputs.size(); ++i) {
      const std::string different =
          difference(interp::Value::tensor(loosened(line.expected[i], options_.slack)),
                     interp::Value::tensor(op::RefTensor::from(form.outputs[i])), result_.tally);
      if (!different.empty()) return "result " + std::to_string(i) + ": " + different;
    }
    return "";
  }

  void add_finding(const StraightLine& line, const Problem& problem, uint64_t index) {
    Problem last = problem;
    ReduceOptions reduction;
    reduction.seconds = options_.reduce_seconds;
    reduction.cancelled = options_.cancelled;
    reduction.check = [&](const Program& candidate, const Problem&) -> std::optional<Problem> {
      std::optional<Problem> found;
      const Status checked = guard([&] {
        pipeline::check_input(candidate.module, "candidate");
        const StraightLine smaller = straight_line(candidate);
        const bool whole =
            problem.kind == ProblemKind::kCrash || adapter_.inexpressible(smaller.document).empty();
        if (whole) found = judge(smaller);
      });
      if (!checked && checked.error().kind == ErrorKind::kInternal) throw_error(checked.error());
      if (found && found->same_as(problem)) last = *found;
      return found;
    };
    const Reduced reduced = reduce(line.program, problem, reduction);
    ExternalFinding finding;
    finding.kind = problem_kind_name(problem.kind);
    finding.form = problem.stage;
    finding.message = last.message;
    finding.signature = problem.signature() + " | " + operators_text(reduced.program.module);
    finding.operators = reduced.operators;
    for (ExternalFinding& known : result_.findings) {
      if (known.signature != finding.signature) continue;
      ++known.count;
      return;
    }
    finding.folder = options_.folder + "/findings/" + std::to_string(index) + "-" + finding.kind;
    save(line, reduced, problem, last, index, finding);
    result_.findings.push_back(finding);
    if (options_.found) options_.found(finding);
  }

  void save(const StraightLine& line, const Reduced& reduced, const Problem& problem,
            const Problem& last, uint64_t index, const ExternalFinding& finding) {
    Finding whole;
    whole.program = line.program;
    whole.problem = problem;
    whole.seed = program_seed(options_.seed, index);
    whole.index = index;
    save_finding(whole, finding.folder);
    whole.program = reduced.program;
    whole.problem = last;
    save_finding(whole, finding.folder + "/reduced");
    unwrap(write_text_atomic(finding.folder + "/reproduce.py",
                             adapter_.script(straight_line(reduced.program), last)));
  }

  const ExternalOptions& options_;
  AdapterProcess adapter_;
  double start_;
  Coverage coverage_;
  ExternalResult result_;
};

}  // namespace

ExternalResult run_external(const ExternalOptions& options) {
  return ExternalCampaign(options).run();
}

}  // namespace tapml::fuzz
