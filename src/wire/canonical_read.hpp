#pragma once
// Reads a value with a field list out of a Cap'n Proto message. The library checks every pointer;
// what it reads is taken by the offsets of field_walk.hpp.

#include "src/base/text.hpp"
#include "src/wire/field_walk.hpp"

#include <capnp/any.h>
#include <capnp/message.h>

#include <cstring>

namespace assay::wire::walk {

/// The first thing that was wrong; empty while nothing is.
struct complaint {
  std::string text;

  void add(std::string what) {
    if (text.empty())
      text = std::move(what);
  }
};

/// One struct of a message. What it is too short for is zero, or null.
class struct_reader {
public:
  explicit struct_reader(capnp::AnyStruct::Reader from)
    : bits_{from.getDataSection()}, pointers_{from.getPointerSection()} {}

  template <class N>
  N number(std::uint32_t at) const {
    N out{};
    if (auto byte = at * sizeof out; byte + sizeof out <= bits_.size())
      std::memcpy(&out, bits_.begin() + byte, sizeof out);
    return out;
  }
  bool bit(std::uint32_t at) const {
    return at / 8 < bits_.size() && (bits_[at / 8] >> (at % 8) & 1) != 0;
  }
  capnp::AnyPointer::Reader pointer(std::uint32_t at) const {
    return at < pointers_.size() ? pointers_[at] : capnp::AnyPointer::Reader{};
  }

private:
  capnp::Data::Reader bits_;
  capnp::List<capnp::AnyPointer>::Reader pointers_;
};

using struct_list = capnp::List<capnp::AnyStruct>::Reader;

inline struct_list structs_of(capnp::AnyPointer::Reader from) {
  return from.getAs<capnp::AnyList>().as<capnp::List<capnp::AnyStruct>>();
}

template <class T>
void get(struct_reader from, T& value, const layout& by, complaint& wrong);

template <class T>
void get_number(auto read, T& value, const place& p, complaint& wrong) {
  if constexpr (moment<T>)
    set_ticks(value, read);
  else if constexpr (std::is_enum_v<T>) {
    if (read >= p.enumerants)
      return wrong.add("an enumeration holds the unknown value " + std::to_string(read));
    value = static_cast<T>(read);
  } else
    value = read;
}

/// How a plain T stands in the message.
template <class T>
using stored = std::
  conditional_t<moment<T>, std::int64_t, std::conditional_t<std::is_enum_v<T>, std::uint16_t, T>>;

inline void get_blob(capnp::Text::Reader from, std::string& value, complaint& wrong) {
  value.assign(from.begin(), from.size());
  if (!is_utf8(value))
    wrong.add("a text is not UTF-8");
}
inline void get_blob(capnp::Data::Reader from, std::string& value, complaint&) {
  value.assign(reinterpret_cast<const char*>(from.begin()), from.size());
}
template <fixed_bytes T>
void get_blob(capnp::Data::Reader from, T& value, complaint& wrong) {
  if (from.size() == 0)
    return;
  if (from.size() != value.bytes.size())
    return wrong.add(
      "a digest or id has " + std::to_string(from.size()) + " bytes instead of "
      + std::to_string(value.bytes.size())
    );
  std::copy(from.begin(), from.end(), value.bytes.begin());
}
template <class Tag>
void get_blob(auto from, id<Tag>& value, complaint& wrong) {
  get_blob(from, value.value, wrong);
}
/// The schema says bytes where this is asked for bytes.
template <fixed_bytes T>
void get_blob(capnp::Text::Reader, T&, complaint&) {
  check(false, "digests and ids are bytes");
}

template <class T>
void get_list(
  capnp::AnyPointer::Reader from, std::vector<T>& values, const place& p, complaint& wrong
);
void get_map(capnp::AnyPointer::Reader from, text_map& values, complaint& wrong);

template <class M>
void get_member(capnp::AnyPointer::Reader from, M& member, const place& p, complaint& wrong) {
  if constexpr (is_a<M, std::optional>) {
    if (from.isNull())
      return;
    auto& present = member.emplace();
    if constexpr (std::is_arithmetic_v<typename M::value_type>) {
      static const auto at = place_of(p.type.asStruct(), "value").at;
      present =
        struct_reader{from.getAs<capnp::AnyStruct>()}.template number<typename M::value_type>(at);
    } else
      get_member(from, present, p, wrong);
  } else if constexpr (blob<M>)
    p.is_data ? get_blob(from.getAs<capnp::Data>(), member, wrong)
              : get_blob(from.getAs<capnp::Text>(), member, wrong);
  else if constexpr (std::same_as<M, text_map>)
    get_map(from, member, wrong);
  else if constexpr (is_a<M, std::vector>)
    get_list(from, member, p, wrong);
  else
    get(struct_reader{from.getAs<capnp::AnyStruct>()}, member, layout_at<M>(p), wrong);
}

template <class T>
void get_list(
  capnp::AnyPointer::Reader from, std::vector<T>& values, const place& p, complaint& wrong
) {
  constexpr std::size_t first_guess = 1'024; // A list of empty structs says any number for free.
  auto read_all = [&](auto list, auto read_one) {
    values.reserve(std::min<std::size_t>(list.size(), first_guess));
    for (auto element : list) {
      read_one(element, values.emplace_back());
      if (!wrong.text.empty())
        return;
    }
  };
  if constexpr (plain<T>)
    read_all(from.getAs<capnp::List<stored<T>>>(), [&](auto element, T& value) {
      get_number(element, value, p, wrong);
    });
  else if constexpr (blob<T>)
    p.is_data ? read_all(
      from.getAs<capnp::List<capnp::Data>>(),
      [&](auto element, T& value) { get_blob(element, value, wrong); }
    )
              : read_all(from.getAs<capnp::List<capnp::Text>>(), [&](auto element, T& value) {
                  get_blob(element, value, wrong);
                });
  else
    read_all(structs_of(from), [&](auto element, T& value) {
      get(struct_reader{element}, value, layout_at<T>(p), wrong);
    });
}

/// Reads the alternative number `at`.
template <std::size_t I = 0, class V>
void get_alternative(
  std::size_t at, const struct_reader& from, V& value, const layout& by, complaint& wrong
) {
  if constexpr (I < std::variant_size_v<V>) {
    if (at != I)
      return get_alternative<I + 1>(at, from, value, by, wrong);
    const auto& p = by.members[I];
    get_member(from.pointer(p.at), value.template emplace<I>(), p, wrong);
  }
}

template <class T>
void get(struct_reader from, T& value, const layout& by, complaint& wrong) {
  if (!wrong.text.empty())
    return;
  if constexpr (is_a<T, std::variant>) {
    const auto tag = from.number<std::uint16_t>(by.tag_at);
    for (std::size_t i = 0; i < by.members.size(); ++i)
      if (by.members[i].tag == tag)
        return get_alternative(i, from, value, by, wrong);
    wrong.add("a union holds a member that this version does not know");
  } else {
    auto where = by.members.begin();
    ledger::fields(
      [&]<class M>(std::string_view, M& member) {
        const auto& p = *where++;
        if constexpr (std::same_as<M, bool>)
          member = from.bit(p.at);
        else if constexpr (plain<M>)
          get_number(from.number<stored<M>>(p.at), member, p, wrong);
        else
          get_member(from.pointer(p.at), member, p, wrong);
      },
      value
    );
  }
}

} // namespace assay::wire::walk
