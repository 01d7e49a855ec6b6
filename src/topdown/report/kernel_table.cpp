#include "topdown/report/kernel_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "topdown/report/heat_map.h"
#include "topdown/report/html.h"
#include "topdown/report/precision_plot.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/sort_script.h"

namespace tapml::topdown {

namespace {

std::string code(const std::string& text) { return element("code", escaped(text)); }

std::string chip(const PageKernel& kernel) {
  return element("span", {{"class", std::string("chip ") + state_class(kernel.state)}},
                 state_sign(kernel.state));
}

std::string link(const std::string& anchor, const std::string& inner) {
  return element("a", {{"href", "#" + anchor}}, inner);
}

std::string error_of(const KernelVerdict& verdict) {
  const int64_t odd = verdict.worst.target.mask_mismatches;
  if (odd > 0) return std::to_string(odd) + " NaN or inf";
  return number(verdict.worst.target.max_abs);
}

// A NaN or an infinity in the wrong place is larger than every error.
double error_key(const KernelVerdict& verdict) {
  const Errors& errors = verdict.worst.target;
  return errors.mask_mismatches > 0 ? std::numeric_limits<double>::infinity() : errors.max_abs;
}

// As the page's script reads it.
std::string script_number(double value) {
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string shapes_cell(const KernelVerdict& verdict) {
  std::string cell = escaped(shapes_text(verdict));
  const ElementCount total = verdict.total();
  if (total.compared < total.elements) {
    cell += void_element("br") + std::to_string(total.compared) + " of " +
            std::to_string(total.elements) + " elements compared";
  }
  if (const std::string open = open_text(verdict); !open.empty()) {
    cell += void_element("br") + escaped(open);
  }
  if (verdict.against_source) cell += void_element("br") + "compared with the source's output only";
  return cell;
}

// A remark for tables of outcomes.
std::string remark(const std::string& text) {
  return text.empty() ? "" : void_element("br") + escaped(text);
}

// Cells of a row: number, kernel with its layers, functions that call it, outcome, calls, shapes,
// error, bound, ratio, ULP, logits error, implementation, time.
std::string kernel_row(const PageKernel& kernel, size_t index, bool hybrids) {
  auto cell = [](const std::string& inner) { return element("td", inner); };
  // With the number that the table is sorted by.
  auto sorted = [](const std::string& inner, double key) {
    return element("td", {{"data-key", script_number(key)}}, inner);
  };
  // Cells that may wrap in a narrow window.
  auto loose = [](const std::string& inner) { return element("td", {{"class", "loose"}}, inner); };
  std::string name = code(kernel.name);
  const Origin& layers = kernel.verdict ? kernel.verdict->origin : kernel.layers;
  if (!layers.layers.empty()) {
    name += element("div", {{"class", "layers"}}, escaped(layers_text(layers)));
  }
  std::string row =
      cell(std::to_string(index + 1)) + cell(name) + cell(escaped(used_in(kernel.groups))) +
      cell(chip(kernel) + " " +
           (kernel.wrong() ? link(failure_anchor(index), escaped(kernel.outcome))
                           : escaped(kernel.outcome)) +
           (kernel.verdict
                ? remark(allowed_text(*kernel.verdict)) + remark(source_text(*kernel.verdict))
                : ""));
  if (kernel.verdict) {
    const KernelVerdict& v = *kernel.verdict;
    const bool compared = was_compared(v);
    row +=
        cell(std::to_string(v.calls)) + loose(shapes_cell(v)) +
        (compared ? sorted(error_of(v), error_key(v)) : cell("")) +
        cell(compared ? number(v.worst.allowed) : "") +
        (compared ? sorted(number(v.worst.target.max_ratio), v.worst.target.max_ratio) : cell("")) +
        cell(compared ? number(v.worst.target.max_ulp) : "");
  } else {
    for (int blank = 0; blank < 6; ++blank) row += cell("");
  }
  if (hybrids) {
    const bool ran = kernel.hybrid != nullptr && kernel.hybrid->positions > 0;
    row += cell(ran ? number(kernel.hybrid->max_abs) : "");
  }
  row += loose(kernel.verdict ? escaped(kernel.verdict->provider) : "") +
         (kernel.verdict ? sorted(seconds(kernel.verdict->seconds), kernel.verdict->seconds)
                         : cell(""));
  return element("tr", {{"id", kernel_anchor(index)}, {"class", kernel.wrong() ? "wrong" : ""}},
                 row) +
         "\n";
}

std::string facts_of(const PageKernel& kernel) {
  std::string rows;
  auto fact = [&](const std::string& name, const std::string& inner) {
    rows += table_row({name, inner}, true);
  };
  if (kernel.verdict) {
    const KernelVerdict& v = *kernel.verdict;
    const Errors& e = v.worst.target;
    if (!v.origin.layers.empty()) fact("layers", code(layers_summary(v.origin)));
    if (!v.origin.lines.empty()) fact("made by", code(lines_summary(v.origin)));
    if (was_compared(v)) {
      fact("where", escaped(v.worst_output) + " of call " + std::to_string(v.worst_sequence) +
                        ", element " + std::to_string(e.worst));
      fact("error", error_of(v) + ", bound " + number(v.worst.allowed) + ", ratio " +
                        number(e.max_ratio) + ", " + number(e.max_ulp) + " ULP");
      fact("over the output", "relative " + number(e.max_relative) + " at most, cosine " +
                                  number(e.cosine) + ", NMSE " + number(e.nmse) + ", " +
                                  std::to_string(e.compared) + " elements compared");
      fact("source", "error " + number(v.worst.source.max_abs) + remark(source_text(v)));
      if (!v.allowances.empty()) fact("allowances", escaped(allowed_text(v)));
    } else if (v.worst_sequence >= 0) {
      fact("where", "call " + std::to_string(v.worst_sequence));
    }
    if (!v.provider.empty()) fact("implementation", code(v.provider));
  }
  if (kernel.hybrid && kernel.hybrid->positions > 0) {
    fact("in the model", escaped(whole_model_text(*kernel.hybrid)));
  }
  for (const auto& [name, text] : kernel.details) fact(escaped(name), escaped(text));
  return table({}, rows, "facts");
}

std::string folded(const std::string& name, const std::string& text) {
  if (text.empty()) return "";
  return element("details", element("summary", escaped(name)) + element("pre", escaped(text)));
}

std::string failure_part(const PageKernel& kernel, size_t index) {
  std::string part = element("h3", {{"id", failure_anchor(index)}},
                             chip(kernel) + " " + link(kernel_anchor(index), code(kernel.name)) +
                                 ": " + escaped(kernel.outcome));
  if (kernel.verdict) {
    for (const std::string& text : {kernel.verdict->failure, kernel.verdict->note}) {
      if (!text.empty()) part += element("pre", escaped(text));
    }
  }
  if (kernel.hybrid && !kernel.hybrid->failure.empty()) {
    part += element("pre", escaped(kernel.hybrid->failure));
  }
  part += facts_of(kernel);
  if (kernel.verdict && kernel.verdict->difference) part += heat_map(*kernel.verdict->difference);
  if (kernel.verdict) part += precision_plot(kernel.verdict->worst.target.precision);
  if (!kernel.reproducer.empty()) {
    part += element("p", kernel.beside_page ? "To reproduce it, run in the folder of this page:"
                                            : "To reproduce it, run:") +
            element("pre", escaped(kernel.reproducer));
  }
  if (kernel.source) {
    part += folded("code (" + kernel.source->language + ")", kernel.source->code) +
            folded("loops, as scheduled", kernel.source->loops);
  }
  return part;
}

}  // namespace

std::string kernel_table(const std::vector<PageKernel>& kernels) {
  if (kernels.empty()) return element("p", "No kernel was tried.");
  const bool hybrids =
      std::ranges::any_of(kernels, [](const PageKernel& kernel) { return kernel.hybrid; });
  std::vector<std::string> heads = {"#",      "kernel", "in",    "outcome",       "calls",
                                    "shapes", "error",  "bound", "error / bound", "ULP"};
  if (hybrids) heads.emplace_back("logits error");
  heads.emplace_back("implementation");
  heads.emplace_back("test took");
  std::string rows;
  for (size_t i = 0; i < kernels.size(); ++i) rows += kernel_row(kernels[i], i, hybrids);
  return table(heads, rows, "kernels sortable") + element("script", sort_script());
}

std::string failure_parts(const std::vector<PageKernel>& kernels) {
  std::string parts;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].wrong()) parts += failure_part(kernels[i], i);
  }
  return parts;
}

std::string code_parts(const std::vector<PageKernel>& kernels) {
  std::string parts;
  for (const PageKernel& kernel : kernels) {
    if (kernel.wrong() || !kernel.source) continue;
    const KernelSource& source = *kernel.source;
    parts += folded(kernel.name + ": code (" + source.language + ")", source.code) +
             folded(kernel.name + ": loops (" + source.provider + ")", source.loops);
  }
  return parts;
}

std::string user_kernel_table(const std::vector<PageKernel>& kernels) {
  std::string rows;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const PageKernel& kernel = kernels[i];
    const std::string file = kernel.verdict ? user_file(*kernel.verdict) : "";
    if (file.empty()) continue;
    rows += table_row({link(kernel_anchor(i), code(kernel.name)), code(file),
                       chip(kernel) + " " + escaped(kernel.outcome)});
  }
  return rows.empty() ? "" : table({"kernel", "file", "outcome"}, rows);
}

std::string tolerance_table(const std::vector<PageKernel>& kernels) {
  std::string rows;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const PageKernel& kernel = kernels[i];
    if (!kernel.verdict || !kernel.verdict->tolerance) continue;
    const Tolerance& tolerance = *kernel.verdict->tolerance;
    rows += table_row({link(kernel_anchor(i), code(kernel.name)),
                       "times " + number(tolerance.factor) + ", plus " + number(tolerance.absolute),
                       kernel.verdict->tolerated ? "yes" : "no", escaped(tolerance.reason)});
  }
  return rows.empty() ? "" : table({"kernel", "bound", "needed", "reason"}, rows);
}

}  // namespace tapml::topdown
