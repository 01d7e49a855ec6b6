#include "text/printer.h"

#include "text/literals.h"
#include "text/printer_impl.h"

namespace tapml::text {

namespace {

std::string without_final_newline(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

std::string format_attrs(const AttrMap& attrs) {
  std::string text = "{";
  for (const auto& [key, value] : attrs) {
    if (text.size() > 1) text += ", ";
    text += format_free_name(key) + ": " + format_attr(value);
  }
  return text + "}";
}

std::string print(const BaseFunction& function, const std::string& name, SideTensors* side) {
  Printer printer(side);
  if (const auto* graph = relax::as_relax_function(&function)) {
    printer.function(*graph, name);
  } else {
    printer.prim_func(*tir::as_prim_func(&function), name);
  }
  return printer.take();
}

std::string print(const Module& module, SideTensors* side) {
  std::string text = "module";
  if (const AttrMap all = module.all_attrs(); !all.empty()) text += " " + format_attrs(all);
  text += '\n';
  for (const auto& [name, function] : module.functions) {
    text += '\n' + print(*function, name, side);
  }
  return text;
}

std::string print(const relax::Expr& expr) {
  Printer printer(nullptr);
  printer.expr(expr);
  return printer.take();
}

std::string print(const relax::Annotation& annotation) {
  Printer printer(nullptr);
  printer.annotation(annotation);
  return printer.take();
}

std::string print(const relax::Binding& binding) {
  Printer printer(nullptr);
  printer.binding(binding);
  return printer.take();
}

std::string print(const tir::Stmt& stmt) {
  Printer printer(nullptr);
  printer.stmts(stmt);
  return without_final_newline(printer.take());
}

std::string print(const PrimExpr& expr) {
  Printer printer(nullptr);
  printer.scalar(expr);
  return printer.take();
}

}  // namespace tapml::text
