// A golden model in the reference evaluator.
#pragma once

#include "interp/interpreter.h"
#include "support/golden_models.h"

namespace tapml {

inline interp::Value int_tensor(Shape shape, std::vector<int32_t> values) {
  return interp::Value::tensor(op::RefTensor::from(
      HostTensor::from(DType::kI32, std::move(shape), std::span<const int32_t>(values))));
}

// One growing text: the interpreter's counterpart of an engine.
class InterpretedText {
 public:
  explicit InterpretedText(const testing::GoldenModel& golden, int64_t pages)
      : module_(golden.model.module),
        interface_(golden.interface()),
        text_length_(static_cast<int32_t>(golden.reference.at("logits").shape()[0])) {
    for (const StateTensor& state : interface_.state) {
      Shape shape = {kSlots};
      if (state.kind == StateKind::kPaged) shape = {pages, interface_.page_size};
      shape.insert(shape.end(), state.shape.begin(), state.shape.end());
      pools_.push_back(interp::Value::tensor(op::RefTensor::zeros(state.dtype, shape)));
    }
    // The last page comes first, so that a wrong use of the table is detected.
    for (int64_t i = 0; i < pages; ++i) table_.push_back(static_cast<int32_t>(pages - 1 - i));
    for (const std::string& name : interface_.weights) {
      weights_.push_back(interp::Value::tensor(op::RefTensor::from(golden.model.weights.at(name))));
    }
  }

  // The embeddings of an image of a golden model that reads images, at consecutive positions.
  void place_image(const HostTensor& pixels, int64_t position) {
    std::vector<interp::Value> args = {interp::Value::tensor(op::RefTensor::from(pixels))};
    args.insert(args.end(), weights_.begin(), weights_.end());
    const interp::Value result = interp::call(module_, "embed_image", args);
    const op::RefTensor& rows = result.as_tuple()[0].as_tensor();
    for (int64_t i = 0; i < rows.shape.at(1); ++i) {
      placement_[position + i] = static_cast<int32_t>(placement_.size());
    }
    for (const double value : rows.values) all_rows_.push_back(value);
    embeddings_.dtype = rows.dtype;
    embeddings_.shape = {1, static_cast<int64_t>(placement_.size()), rows.shape.at(2)};
    embeddings_.values = all_rows_;
  }

  // Fills the fixed state of a golden model that reads features [1, ...].
  void encode(const HostTensor& features) {
    std::vector<interp::Value> args = {interp::Value::tensor(op::RefTensor::from(features)),
                                       int_tensor({1}, {kSlots - 1})};
    for (size_t i = 0; i < pools_.size(); ++i) {
      if (interface_.state[i].kind == StateKind::kFixed) args.push_back(pools_[i]);
    }
    args.insert(args.end(), weights_.begin(), weights_.end());
    const interp::Value result = interp::call(module_, "encode", args);
    auto next = result.as_tuple().begin();
    for (size_t i = 0; i < pools_.size(); ++i) {
      if (interface_.state[i].kind == StateKind::kFixed) pools_[i] = *next++;
    }
  }

  HostTensor call(const std::string& function, std::span<const int32_t> tokens) {
    const auto count = static_cast<int64_t>(tokens.size());
    std::vector<interp::Value> args = {int_tensor({1, count}, {tokens.begin(), tokens.end()})};
    if (interface_.has_state(StateKind::kPaged)) {
      args.push_back(int_tensor({1, static_cast<int64_t>(table_.size())}, table_));
      args.push_back(int_tensor({1}, {length_}));
    }
    if (interface_.has_state(StateKind::kRecurrent) || interface_.has_state(StateKind::kFixed)) {
      args.push_back(int_tensor({1}, {kSlots - 1}));
    }
    if (interface_.short_text > 0) args.push_back(int_tensor({1}, {text_length_}));
    if (interface_.find_function(function)->takes(Role::kPlacement)) {
      args.push_back(interp::Value::tensor(embeddings_));
      args.push_back(int_tensor({1, count}, rows_of_next(count)));
    }
    args.insert(args.end(), pools_.begin(), pools_.end());
    args.insert(args.end(), weights_.begin(), weights_.end());
    interp::Value result = interp::call(module_, function, args);
    const interp::ValueList& fields = result.as_tuple();
    pools_.assign(fields.begin() + 1, fields.end());
    length_ += static_cast<int32_t>(count);
    return fields[0].as_tensor().to_host();
  }

 private:
  static constexpr int32_t kSlots = 2;

  std::vector<int32_t> rows_of_next(int64_t count) const {
    std::vector<int32_t> rows;
    for (int64_t i = 0; i < count; ++i) {
      const auto placed = placement_.find(length_ + i);
      rows.push_back(placed == placement_.end() ? -1 : placed->second);
    }
    return rows;
  }

  const Module& module_;
  ModelInterface interface_;
  int32_t text_length_;  // of the whole golden text
  std::vector<interp::Value> pools_, weights_;
  std::vector<int32_t> table_;
  int32_t length_ = 0;
  std::vector<double> all_rows_;
  op::RefTensor embeddings_;              // of images, [1, m, d]
  std::map<int64_t, int32_t> placement_;  // position ▸ row
};

}  // namespace tapml
