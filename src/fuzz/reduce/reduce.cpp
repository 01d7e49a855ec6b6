#include "fuzz/reduce/reduce.h"

#include "base/clock.h"
#include "fuzz/oracles/variants.h"
#include "fuzz/reduce/shrink.h"
#include "ir/exceptions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {

namespace {

class Reducer {
 public:
  Reducer(const Program& program, const Problem& problem, const ReduceOptions& options)
      : best_(program), problem_(problem), options_(options), start_(seconds_now()) {}

  Reduced run() {
    simplify_variant();
    bool changed = true;
    while (changed && !over()) {
      changed = drop_unused();
      changed |= drop_functions();
      changed |= drop_outputs();
      changed |= drop_parts();
      changed |= drop_bindings();
      changed |= inline_calls();
      changed |= shrink_extents();
    }
    simplify_elements();
    result_.program = best_;
    result_.problem = problem_;
    result_.operators = count_calls(best_.module);
    return std::move(result_);
  }

 private:
  bool over() const {
    return seconds_now() - start_ > options_.seconds ||
           (options_.cancelled && options_.cancelled());
  }

  void simplify_variant() {
    const auto without_variant = [](Problem problem) {
      problem.variant.clear();
      return problem.signature();
    };
    for (bool changed = true; changed && !over();) {
      changed = false;
      for (const Variant& simpler : parse_variant(problem_.variant).simpler()) {
        Problem wanted = problem_;
        wanted.variant = simpler.text();
        std::optional<Problem> found;
        const Status tried = guard([&] {
          ++result_.tried;
          found = options_.check(best_, wanted);
        });
        if (!tried || !found || without_variant(*found) != without_variant(problem_)) continue;
        problem_ = *found;
        changed = true;
        break;
      }
    }
  }

  static std::string text_of(const Program& program) {
    text::SideTensors side;
    return text::print(program.module, &side);
  }

  // Takes the candidate if it fails in the same way and is another program.
  bool attempt(const std::optional<Program>& candidate) {
    if (!candidate || over()) return false;
    std::optional<Problem> found;
    Program cleaned;
    const Status tried = guard([&] {
      cleaned = cleans_ ? without_unused(*candidate) : *candidate;
      const std::string text = text_of(cleaned);
      if (text == text_of(best_) && same_arguments(cleaned)) return;
      text::SideTensors side;
      text::print(cleaned.module, &side);
      // Functions and branches get variables of their own.
      cleaned.module = text::parse(text, "reduced", {.side = &side});
      ++result_.tried;
      found = options_.check(cleaned, problem_);
    });
    if (!tried || !found || !found->same_as(problem_)) return false;
    best_ = std::move(cleaned);
    ++result_.kept;
    return true;
  }

  bool same_arguments(const Program& other) const {
    if (other.arguments.size() != best_.arguments.size()) return false;
    for (size_t i = 0; i < other.arguments.size(); ++i) {
      const auto* a = std::get_if<op::RefTensor>(&other.arguments[i].data);
      const auto* b = std::get_if<op::RefTensor>(&best_.arguments[i].data);
      if (!a || !b) continue;
      const HostTensor x = a->to_host(), y = b->to_host();
      if (x.shape() != y.shape() ||
          !std::equal(x.bytes().begin(), x.bytes().end(), y.bytes().begin())) {
        return false;
      }
    }
    return true;
  }

  // A problem may need what nothing reads; then its parts are dropped one by one.
  bool drop_unused() {
    if (cleans_ && attempt(best_)) return true;
    if (attempt(without_unused(best_))) return true;
    cleans_ = false;
    bool changed = false;
    for (size_t i = best_.arguments.size(); i-- > 0 && !over();) {
      changed |= attempt(without_parameter(best_, i));
    }
    for (size_t part = all_binding_count(best_); part >= 1 && !over(); part /= 2) {
      for (size_t end = all_binding_count(best_); end > 0 && !over();) {
        const size_t begin = end > part ? end - part : 0;
        changed |= attempt(without_unused_bindings(best_, begin, end));
        end = std::min(begin, all_binding_count(best_));
      }
    }
    return changed;
  }

  bool drop_functions() {
    bool changed = false;
    std::vector<std::string> names;
    for (const auto& [name, function] : best_.module.functions) names.push_back(name);
    for (const std::string& name : names) {
      if (name == "main" || over()) continue;
      Program without = best_;
      without.module.functions.erase(name);
      changed |= attempt(without);
    }
    return changed;
  }

  bool inline_calls() { return attempt(with_inlined(best_)); }

  bool drop_outputs() {
    const size_t count = output_count(best_);
    for (size_t i = 0; i < count && count > 1; ++i) {
      if (attempt(with_output(best_, i))) return true;
    }
    return false;
  }

  // Halves first, then ever smaller parts.
  bool drop_parts() {
    bool changed = false;
    for (size_t part = all_binding_count(best_); part >= 1 && !over(); part /= 2) {
      // The last binding of all is main's result.
      for (size_t end = all_binding_count(best_); end > 0 && !over();) {
        const size_t begin = end > part ? end - part : 0;
        changed |= attempt(with_literals(best_, begin, end));
        end = std::min(begin, all_binding_count(best_));
      }
    }
    return changed;
  }

  bool drop_bindings() {
    bool changed = false;
    // What is late in the program has the most before it.
    for (size_t i = binding_count(best_); i-- > 0 && !over();) {
      if (i < binding_count(best_)) changed |= attempt(with_parameter(best_, i));
    }
    for (size_t i = all_binding_count(best_); i-- > 0 && !over();) {
      bool dropped = attempt(with_branch(best_, i, true)) || attempt(with_branch(best_, i, false));
      for (size_t operand = 0; operand < 3 && !dropped; ++operand) {
        dropped = attempt(with_operand(best_, i, operand));
      }
      changed |= dropped;
    }
    return changed;
  }

  bool shrink_extents() {
    bool changed = false;
    for (const int64_t extent : extents(best_)) {
      for (const int64_t instead : {int64_t{1}, int64_t{2}, extent / 2, extent - 1}) {
        if (instead < 1 || !attempt(with_extent(best_, extent, instead))) continue;
        changed = true;
        break;
      }
    }
    return changed;
  }

  void simplify_elements() {
    for (size_t i = 0; i < best_.arguments.size(); ++i) {
      if (!attempt(with_elements(best_, i, 0))) attempt(with_elements(best_, i, 1));
    }
  }

  Program best_;
  Problem problem_;
  const ReduceOptions& options_;
  double start_;
  bool cleans_ = true;  // candidates lose what nothing reads
  Reduced result_;
};

}  // namespace

Reduced reduce(const Program& program, const Problem& problem, const ReduceOptions& options) {
  return Reducer(program, problem, options).run();
}

}  // namespace tapml::fuzz
