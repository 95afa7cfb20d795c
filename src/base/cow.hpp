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
    else
      follow_last_reader();
    return *value_;
  }

  std::shared_ptr<const T> share() const { return value_; }

private:
  /// `use_count` is a relaxed read: it says that the last reader has let go, but not that his reads
  /// are over before we write. Letting go of a reference does say so, to whoever lets go next. (A
  /// fence would too, but ThreadSanitizer does not see fences.)
  void follow_last_reader() { std::shared_ptr<T>{value_}.reset(); }

  std::shared_ptr<T> value_;
};

} // namespace assay
