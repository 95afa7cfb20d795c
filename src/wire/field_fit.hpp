#pragma once
// Does a message that holds fields which this version does not know still hold the known ones in
// their only form: what is empty as a null pointer, mappings in order? Only the codecs of this
// folder include it, for bytes that encoding again did not give.

#include "src/wire/field_walk.hpp"

#include <capnp/any.h>

namespace assay::wire::walk {

template <class T>
bool fits(struct_reader from, const T& value);

template <class T>
inline constexpr bool is_plain_struct =
  std::is_class_v<T> && !is_id<T> && !fixed_bytes<T> && !moment<T> && !std::same_as<T, std::string>;

template <class T>
inline constexpr bool is_pointer =
  is_id<
    T> || fixed_bytes<T> || std::same_as<T, std::string> || is_a<T, std::vector> || std::same_as<T, text_map>;

template <class T>
bool list_fits(capnp::DynamicList::Reader from, const std::vector<T>& values) {
  for (unsigned i = 0; i < values.size(); ++i) {
    if constexpr (is_plain_struct<T>) {
      if (!fits(from[i].template as<capnp::DynamicStruct>(), values[i]))
        return false;
    } else if constexpr (is_pointer<T>) {
      capnp::AnyList::Reader any = from;
      if (any.as<capnp::List<capnp::AnyPointer>>()[i].isNull() != is_null(values[i]))
        return false;
    }
  }
  return true;
}

/// Names ascend, each once; `values` is the mapping that the list was read into.
inline bool list_fits(capnp::DynamicList::Reader from, const text_map& values) {
  if (from.size() != values.size())
    return false;
  unsigned i = 0;
  for (const auto& [key, value] : values) {
    auto entry = from[i++].as<capnp::DynamicStruct>();
    auto name = entry.get("key").as<capnp::Text>();
    if (std::string_view{name.begin(), name.size()} != key || entry.has("key") == key.empty()
        || entry.has("value") == value.empty())
      return false;
  }
  return true;
}

template <class T>
bool member_fits(struct_reader from, capnp::StructSchema::Field field, const T& value) {
  if constexpr (is_a<T, std::optional>) {
    if (!value)
      return true;
    if constexpr (std::is_arithmetic_v<typename T::value_type>)
      return true;
    else
      return member_fits(from, field, *value);
  } else if constexpr (is_pointer<T>) {
    if (from.has(field) == is_null(value))
      return false;
    if constexpr (is_a<T, std::vector> || std::same_as<T, text_map>)
      return is_null(value) || list_fits(from.get(field).template as<capnp::DynamicList>(), value);
    return true;
  } else if constexpr (is_plain_struct<T>) {
    return from.has(field) && fits(from.get(field).template as<capnp::DynamicStruct>(), value);
  } else {
    return true;
  }
}

template <class T>
bool fits(struct_reader from, const T& value) {
  const auto& list = fields_of<T>(from.getSchema());
  bool all = true;
  if constexpr (is_a<T, std::variant>) {
    auto field = list[value.index()];
    std::visit(
      [&](const auto& alternative) { all = member_fits(from, field, alternative); }, value
    );
  } else {
    std::size_t at = 0;
    ledger::fields(
      [&](std::string_view, const auto& member) {
        all = member_fits(from, list[at++], member) && all;
      },
      value
    );
  }
  return all;
}

} // namespace assay::wire::walk
