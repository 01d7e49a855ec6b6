// Graph level: functions, bindings, expressions, annotations.
#include "base/strings.h"
#include "text/literals.h"
#include "text/printer_impl.h"

namespace tapml::text {

using namespace relax;  // NOLINT: every name below is one of relax's

namespace {

constexpr size_t kLineWidth = 100;

bool takes_suffix(const Expr& expr) {
  switch (expr->kind) {
    case relax::ExprKind::kVar:
    case relax::ExprKind::kConstant:
    case relax::ExprKind::kShape:
    case relax::ExprKind::kTuple:
    case relax::ExprKind::kTupleGetItem:
    case relax::ExprKind::kGlobalVar:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Printer::parameter_list(const std::vector<std::string>& items, const std::string& rest) {
  size_t line = out_.size() - (out_.rfind('\n') == std::string::npos ? 0 : out_.rfind('\n') + 1);
  size_t width = line + rest.size() + 4;
  for (const std::string& item : items) width += item.size() + 2;
  if (width <= kLineWidth) {
    out_ += "(" + join(items) + ")" + rest;
    return;
  }
  out_ += "(\n";
  indent_ += 2;
  for (size_t i = 0; i < items.size(); ++i) {
    start_line();
    out_ += items[i] + (i + 1 < items.size() ? ",\n" : "\n");
  }
  indent_ -= 2;
  start_line();
  out_ += ')' + rest;
}

void Printer::annotations(const std::vector<Annotation>& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out_ += ", ";
    annotation(list[i]);
  }
}

void Printer::annotation(const Annotation& annotation) {
  if (!annotation) {
    out_ += "<null>";
    return;
  }
  Nest nest(*this, expr_depth_);
  switch (annotation->kind) {
    case AnnotationKind::kObject:
      out_ += "Object";
      break;
    case AnnotationKind::kPrim: {
      const auto* prim = as_prim(annotation);
      out_ += std::string("Prim(") + dtype_name(prim->dtype);
      if (prim->value) {
        out_ += ", ";
        scalar(prim->value);
      }
      out_ += ')';
      break;
    }
    case AnnotationKind::kShape: {
      const auto* shape = as_shape(annotation);
      out_ += "Shape(";
      if (shape->dims) {
        dims(*shape->dims);
      } else if (shape->ndim != kUnknownNdim) {
        out_ += "ndim=" + std::to_string(shape->ndim);
      }
      out_ += ')';
      break;
    }
    case AnnotationKind::kTensor: {
      const auto* tensor = as_tensor(annotation);
      out_ += "Tensor(";
      if (tensor->shape) {
        dims(*tensor->shape);
      } else if (tensor->ndim != kUnknownNdim) {
        out_ += "ndim=" + std::to_string(tensor->ndim);
      }
      if (tensor->dtype) {
        if (out_.back() != '(') out_ += ", ";
        out_ += dtype_name(*tensor->dtype);
      }
      out_ += ')';
      break;
    }
    case AnnotationKind::kTuple:
      out_ += "Tuple(";
      annotations(as_tuple(annotation)->fields);
      out_ += ')';
      break;
    case AnnotationKind::kCallable: {
      const auto* callable = as_callable(annotation);
      // Its parameters bind symbolic variables of their own.
      names_.push();
      std::vector<Var> own;
      for (const Annotation& param : callable->params) collect_vars(param, own);
      for (const Var& var : own) names_.define(var.get(), var->name);
      out_ += "Callable((";
      annotations(callable->params);
      out_ += "), ";
      this->annotation(callable->result);
      out_ += callable->pure ? ")" : ", impure)";
      names_.pop();
      break;
    }
  }
}

void Printer::constant(const HostTensor& value) {
  out_ += std::string("const(") + dtype_name(value.dtype()) + ", (";
  const Shape& shape = value.shape();
  for (size_t i = 0; i < shape.size(); ++i) out_ += (i ? ", " : "") + std::to_string(shape[i]);
  out_ += shape.size() == 1 ? ",), " : "), ";
  if (value.byte_size() > kInlineConstantBytes) {
    std::string hash = content_hash(value);
    out_ += format_string(hash) + ")";
    if (side_) side_->emplace(std::move(hash), value);
    return;
  }
  out_ += '[';
  for (int64_t i = 0; i < value.size(); ++i) out_ += (i ? ", " : "") + format_element(value, i);
  out_ += "])";
}

void Printer::base(const Expr& expr) {
  bool parens = !takes_suffix(expr);
  if (parens) out_ += '(';
  this->expr(expr);
  if (parens) out_ += ')';
}

void Printer::callee(const Expr& callee) {
  if (const auto* op = as<OperatorNode>(callee)) {
    bool bare =
        is_identifier(op->name) && !is_reserved_in_graph(op->name) && !names_.is_taken(op->name);
    out_ += bare ? op->name : "op " + format_string(op->name);
  } else if (callee->kind == relax::ExprKind::kExternFunc) {
    expr(callee);
  } else {
    base(callee);
  }
}

void Printer::call(const CallNode& call) {
  callee(call.callee);
  out_ += '(';
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (i) out_ += ", ";
    expr(call.args[i]);
  }
  if (!call.args.empty() && !call.annotations.empty()) out_ += ", ";
  annotations(call.annotations);
  out_ += ')';
  if (!call.attrs.empty()) out_ += " " + format_attrs(call.attrs);
}

void Printer::expr(const Expr& expr) {
  if (!expr) {
    out_ += "<null>";
    return;
  }
  Nest nest(*this, expr_depth_);
  switch (expr->kind) {
    case relax::ExprKind::kVar: {
      const auto* var = as<VarNode>(expr);
      name_of(var, var->name);
      break;
    }
    case relax::ExprKind::kConstant:
      constant(as<ConstantNode>(expr)->value);
      break;
    case relax::ExprKind::kShape:
      out_ += "shape(";
      scalars(as<ShapeNode>(expr)->dims);
      out_ += ')';
      break;
    case relax::ExprKind::kPrimValue:
      out_ += "prim(";
      scalar(as<PrimValueNode>(expr)->value);
      out_ += ')';
      break;
    case relax::ExprKind::kTuple: {
      const auto& fields = as<TupleNode>(expr)->fields;
      out_ += '(';
      for (size_t i = 0; i < fields.size(); ++i) {
        if (i) out_ += ", ";
        this->expr(fields[i]);
      }
      out_ += fields.size() == 1 ? ",)" : ")";
      break;
    }
    case relax::ExprKind::kTupleGetItem: {
      const auto* item = as<TupleGetItemNode>(expr);
      base(item->tuple);
      out_ += "[" + std::to_string(item->index) + "]";
      break;
    }
    case relax::ExprKind::kOperator:
      out_ += "op " + format_string(as<OperatorNode>(expr)->name);
      break;
    case relax::ExprKind::kGlobalVar:
      out_ += "@" + format_free_name(as<GlobalVarNode>(expr)->name);
      break;
    case relax::ExprKind::kExternFunc:
      out_ += "extern " + format_string(as<ExternFuncNode>(expr)->name);
      break;
    case relax::ExprKind::kCall:
      call(*as<CallNode>(expr));
      break;
    case relax::ExprKind::kIf: {
      const auto* branch = as<IfNode>(expr);
      out_ += "if (";
      this->expr(branch->condition);
      out_ += ") ";
      this->expr(branch->then_branch);
      out_ += " else ";
      this->expr(branch->else_branch);
      break;
    }
    case relax::ExprKind::kSeq:
      sequence(expr, "yield");
      break;
    case relax::ExprKind::kFunction:
      out_ += as<FunctionNode>(expr)->function->pure ? "def " : "impure def ";
      signature_and_body(*as<FunctionNode>(expr)->function);
      break;
  }
}

void Printer::binding(const Binding& binding) {
  define(binding.var.get(), binding.var->name);
  out_ += ": ";
  annotation(binding.var->annotation);
  out_ += " = ";
  if (binding.match_cast) out_ += "match_cast(";
  expr(binding.value);
  if (binding.match_cast) {
    out_ += ", ";
    annotation(binding.match_cast);
    out_ += ')';
  }
  if (const CheckNote& check = binding.check; !check.empty()) {
    out_ += " @check(" + format_string(check.what);
    if (!check.binding.empty() || !check.function.empty()) {
      out_ += ", " + format_string(check.binding);
    }
    if (!check.function.empty()) out_ += ", " + format_string(check.function);
    out_ += ')';
  }
  const auto places = [&](const char* kind, const std::set<std::string>& texts) {
    if (!texts.empty()) out_ += std::string(" @") + kind + "(" + join(texts, format_string) + ")";
  };
  places("origin", binding.origin.layers);
  places("lines", binding.origin.lines);
}

void Printer::dataflow(const Block& block) {
  start_line();
  out_ += "dataflow {\n";
  ++indent_;
  bool first = true;
  std::string outputs;
  for (const Binding& binding : block.bindings) {
    start_line();
    this->binding(binding);
    out_ += '\n';
    if (binding.var->dataflow) continue;
    outputs +=
        (first ? "output " : ", ") + format_name(names_.use(binding.var.get(), binding.var->name));
    first = false;
  }
  if (!first) {
    start_line();
    out_ += outputs + '\n';
  }
  for (const Binding& binding : block.bindings) {
    if (binding.var->dataflow) names_.release(binding.var.get());
  }
  --indent_;
  start_line();
  out_ += "}\n";
}

void Printer::sequence(const Expr& body, const char* result_keyword) {
  out_ += "{\n";
  names_.push();
  ++indent_;
  const auto* seq = as<SeqNode>(body);
  if (seq) {
    for (const Block& block : seq->blocks) {
      if (block.dataflow) {
        dataflow(block);
        continue;
      }
      for (const Binding& binding : block.bindings) {
        start_line();
        this->binding(binding);
        out_ += '\n';
      }
    }
  }
  start_line();
  out_ += std::string(result_keyword) + " ";
  expr(seq ? seq->result : body);
  out_ += '\n';
  --indent_;
  names_.pop();
  start_line();
  out_ += '}';
}

void Printer::signature_and_body(const Function& function) {
  names_.push();
  std::vector<std::string> items;
  std::string kept;
  auto item = [&](auto&& body) {
    kept.swap(out_);
    out_.clear();
    body();
    items.push_back(std::move(out_));
    out_ = std::move(kept);
  };
  for (const Variable& param : function.params) {
    item([&] {
      define(param.get(), param->name);
      out_ += ": ";
      annotation(param->annotation);
    });
  }
  item([&] {
    out_ += " -> ";
    annotation(function.result);
    if (const AttrMap all = function.all_attrs(); !all.empty()) out_ += " " + format_attrs(all);
  });
  std::string rest = std::move(items.back());
  items.pop_back();
  parameter_list(items, rest);
  out_ += ' ';
  sequence(function.body, "return");
  names_.pop();
}

void Printer::function(const Function& function, const std::string& name) {
  if (!function.pure) out_ += "impure ";
  out_ += "def " + format_free_name(name);
  signature_and_body(function);
  out_ += '\n';
}

}  // namespace tapml::text
