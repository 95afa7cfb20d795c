#pragma once
// A value that is cheap to publish: readers keep an immutable version, the one writer copies only
// when a published version still has a reader.

#include <memory>

namespace assay {

/// Not itself synchronised: one thread owns the cow; what `share` returns may go to any thread.
template <class T>
class cow {
public:
  cow() : value_{std::make_shared<T>()} {}
  explicit cow(T value) : value_{std::make_shared<T>(std::move(value))} {}

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  /// The value to change; copied first if anybody else holds it.
  T& write() {
    if (value_.use_count() != 1)
      value_ = std::make_shared<T>(*value_);
    return *value_;
  }

  std::shared_ptr<const T> share() const { return value_; }

private:
  std::shared_ptr<T> value_;
};

} // namespace assay
