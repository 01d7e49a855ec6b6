#include "interp/operand_check.h"

#include "arith/broadcast_dim.h"
#include "ir/exceptions.h"
#include "op/operand_checks.h"
#include "relax/check_location.h"

namespace tapml::interp {

using namespace relax;  // NOLINT: this file is about relax alone

void check_operands(const CallNode& node, const std::vector<Item>& args, const Binding& binding,
                    const std::string& function, const Symbols& symbols, const CheckItem& check) {
  const op::OperatorInfo* info = op::operator_of(*as<OperatorNode>(node.callee));
  std::optional<Error> wrong;
  auto hold = [&](const Annotation& expected, const Item& item, CheckNote note) {
    Binding noted = binding;
    noted.check = std::move(note);
    auto fits = guard([&] { check(expected, item, binding_location(noted, function)); });
    if (!fits && !wrong) wrong = std::move(fits).error();
  };
  auto compare = [&](const op::Operand& operand, const Annotation& expected) {
    const Item& whole = args[operand.argument];
    hold(expected, operand.field < 0 ? whole : whole.fields[static_cast<size_t>(operand.field)],
         operand_note(operand.name(), info->name, binding));
    return make_variable(operand.name(), expected);
  };
  auto compare_integers = [&](const op::OperatorInfo&, const op::OpenEquality& open) {
    Item found;
    found.kind = ItemKind::kShape;
    found.ints = {value_of(open.b, symbols)};
    hold(shape_annotation({open.a}), found, call_note(open.what, info->name, binding));
  };
  // What deduction cannot decide from coarse annotations is ignored.
  [[maybe_unused]] const auto decided = guard([&] {
    const Annotation result = op::deduce(node);
    const auto* tensor = as_tensor(result);
    if (tensor && !tensor->shape && tensor->ndim != kUnknownNdim && !info->decompose) {
      for (const op::BroadcastPair& pair : op::open_broadcasts(node)) {
        const int64_t a = value_of(pair.a, symbols), b = value_of(pair.b, symbols);
        if (a == b || a == 1 || b == 1) continue;
        const op::Operand first{*info, pair.first, -1, node.args[pair.first]};
        compare(first, op::respelled(annotation_of(first.value), pair.a,
                                     arith::broadcast_dim(pair.a, pair.b)));
      }
    }
    op::check_operands(make_call(node.callee, node.args, node.attrs, node.annotations), compare,
                       compare_integers);
  });
  if (wrong) throw_error(*std::move(wrong));
}

}  // namespace tapml::interp
