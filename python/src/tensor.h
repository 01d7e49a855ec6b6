// Tensors on a session, held by Python.
#pragma once

#include "runtime/tensor.h"
#include "session.h"

namespace tapml::python {

class DeviceTensor final : public Resource {
 public:
  DeviceTensor(SessionRef open, runtime::Tensor tensor)
      : open_(std::move(open)), session_(open_->use()), tensor_(std::move(tensor)) {
    open_->add(this);
  }
  ~DeviceTensor() override { open_->remove(this); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;
  void drop() noexcept override {
    tensor_.storage.reset();
    session_.reset();
  }

  const SessionRef& open() const { return open_; }
  DType dtype() const { return tensor_.dtype; }
  const runtime::Extents& shape() const { return tensor_.shape; }
  // The tensor together with the session that work on it needs; throws tapml.ClosedError after the
  // session was closed.
  struct Use {
    std::shared_ptr<runtime::Session> session;
    runtime::Tensor tensor;  // destroyed first
  };
  Use use() const;

 private:
  SessionRef open_;
  std::shared_ptr<runtime::Session> session_;
  runtime::Tensor tensor_;
};

// Null if x is not a tapml tensor.
const DeviceTensor* as_device_tensor(const py::object& x);

// x (see take_array) on the session. `copy`: true always copies, false never (UserError if the
// memory cannot be shared), none shares where possible.
std::unique_ptr<DeviceTensor> make_tensor(const py::object& x, const SessionRef& open,
                                          std::optional<DType> dtype, std::optional<bool> copy,
                                          const char* where);

// Call it before work that reads the tensor's memory, so that writes by Python code are noticed.
void note_foreign_writes(const OpenSession& open, const runtime::Tensor& tensor);

// "f32[2, 3]"
std::string type_text(DType dtype, std::span<const int64_t> shape);

}  // namespace tapml::python
