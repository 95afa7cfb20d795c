#pragma once
// Walks the field lists of src/ledger/*_fields.hpp over Cap'n Proto's dynamic values: one pair of
// functions encodes and decodes every value of the ledger. Only the codecs of this folder include
// it.
//
// A member `expires_at` of type wall_ms is the schema's `expiresAtMs`: underscores become capitals,
// and the types that have a unit put it at the end. Field handles are looked up by name once for
// each type and kept.

#include "src/ledger/row_fields.hpp"

#include <capnp/dynamic.h>
#include <capnp/message.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace assay::wire::walk {

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;

template <class T>
inline constexpr bool is_id = false;
template <class Tag>
inline constexpr bool is_id<id<Tag>> = true;

template <class T>
concept fixed_bytes = std::same_as<T, digest> || std::same_as<T, uuid>;
template <class T>
concept moment = std::same_as<T, wall_ms> || is_a<T, std::chrono::duration> || std::
  same_as<T, std::chrono::milliseconds> || std::same_as<T, std::chrono::seconds>;
using text_map = std::map<std::string, std::string>;

/// `valid_for` and std::chrono::seconds give `validForS`.
std::string schema_name(std::string_view member, std::string_view unit);

template <class T>
constexpr std::string_view unit_of() {
  if constexpr (std::same_as<T, wall_ms> || std::same_as<T, std::chrono::milliseconds>)
    return "_ms";
  else if constexpr (std::same_as<T, std::chrono::seconds>)
    return "_s";
  else
    return "";
}

using field_list = std::vector<capnp::StructSchema::Field>;

/// The schema's fields of T, in the order of T's list.
template <class T>
const field_list& fields_of(capnp::StructSchema schema) {
  static const field_list list = [&] {
    field_list found;
    auto add = [&](std::string_view name, std::string_view unit) {
      found.push_back(schema.getFieldByName(schema_name(name, unit).c_str()));
    };
    if constexpr (is_a<T, std::variant>) {
      for (auto name : ledger::alternatives<T>)
        add(name, "");
    } else {
      T value{};
      ledger::fields(
        [&]<class M>(std::string_view name, M&) { add(name, unit_of<std::remove_const_t<M>>()); },
        value
      );
    }
    return found;
  }();
  return list;
}

inline std::int64_t ticks(wall_ms t) {
  return t.value;
}
inline std::int64_t ticks(std::chrono::milliseconds t) {
  return t.count();
}
inline std::int64_t ticks(std::chrono::seconds t) {
  return t.count();
}
inline void set_ticks(wall_ms& t, std::int64_t v) {
  t.value = v;
}
inline void set_ticks(std::chrono::milliseconds& t, std::int64_t v) {
  t = std::chrono::milliseconds{v};
}
inline void set_ticks(std::chrono::seconds& t, std::int64_t v) {
  t = std::chrono::seconds{v};
}

// -- encoding ---------------------------------------------------------------------------------

using struct_builder = capnp::DynamicStruct::Builder;

template <class T>
void put(struct_builder to, const T& value);

inline capnp::Data::Reader data(const void* bytes, std::size_t size) {
  return {static_cast<const kj::byte*>(bytes), size};
}

/// Scalars, texts and bytes as one dynamic value of `type`; a null pointer for what is empty.
template <class T>
capnp::DynamicValue::Reader scalar(const T& value, capnp::Type type) {
  if constexpr (is_id<T>)
    return scalar(value.value, type);
  else if constexpr (std::same_as<T, std::string>)
    return type.isData()
             ? capnp::DynamicValue::Reader{data(value.data(), value.size())}
             : capnp::DynamicValue::Reader{capnp::Text::Reader{value.data(), value.size()}};
  else if constexpr (fixed_bytes<T>)
    return data(value.bytes.data(), value.bytes.size());
  else if constexpr (moment<T>)
    return ticks(value);
  else if constexpr (std::is_enum_v<T>)
    return capnp::DynamicEnum{type.asEnum(), static_cast<std::uint16_t>(value)};
  else
    return value;
}

template <class T>
bool is_null(const T& value) {
  if constexpr (is_id<T>)
    return value.value.empty();
  else if constexpr (std::same_as<T, std::string> || is_a<T, std::vector> || std::same_as<T, text_map>)
    return value.empty();
  else if constexpr (fixed_bytes<T>)
    return value == T{};
  else
    return false;
}

template <class T>
void put_list(capnp::DynamicList::Builder to, const std::vector<T>& values) {
  auto type = to.getSchema().getElementType();
  for (unsigned i = 0; i < values.size(); ++i) {
    if constexpr (std::is_class_v<T> && !is_id<T> && !fixed_bytes<T> && !std::same_as<T, std::string>)
      put(to[i].template as<capnp::DynamicStruct>(), values[i]);
    else if (!is_null(values[i]))
      to.set(i, scalar(values[i], type));
  }
}

inline void put_list(capnp::DynamicList::Builder to, const text_map& values) {
  unsigned i = 0;
  for (const auto& [key, value] : values) {
    auto entry = to[i++].as<capnp::DynamicStruct>();
    if (!key.empty())
      entry.set("key", capnp::Text::Reader{key.data(), key.size()});
    if (!value.empty())
      entry.set("value", capnp::Text::Reader{value.data(), value.size()});
  }
}

template <class T>
void put_member(struct_builder to, capnp::StructSchema::Field field, const T& value) {
  if (is_null(value))
    return;
  if constexpr (is_a<T, std::optional>) {
    if (!value)
      return;
    if constexpr (std::is_arithmetic_v<typename T::value_type>)
      to.init(field).template as<capnp::DynamicStruct>().set("value", *value);
    else
      put_member(to, field, *value);
  } else if constexpr (is_a<T, std::vector> || std::same_as<T, text_map>) {
    put_list(
      to.init(field, static_cast<unsigned>(value.size())).template as<capnp::DynamicList>(), value
    );
  } else if constexpr (std::is_class_v<T> && !is_id<T> && !fixed_bytes<T> && !moment<T> && !std::same_as<T, std::string>) {
    put(to.init(field).template as<capnp::DynamicStruct>(), value);
  } else {
    to.set(field, scalar(value, field.getType()));
  }
}

template <class T>
void put(struct_builder to, const T& value) {
  const auto& list = fields_of<T>(to.getSchema());
  if constexpr (is_a<T, std::variant>) {
    auto field = list[value.index()];
    std::visit(
      [&](const auto& alternative) {
        put(to.init(field).template as<capnp::DynamicStruct>(), alternative);
      },
      value
    );
  } else {
    std::size_t at = 0;
    ledger::fields(
      [&](std::string_view, const auto& member) { put_member(to, list[at++], member); }, value
    );
  }
}

// -- decoding ---------------------------------------------------------------------------------

using struct_reader = capnp::DynamicStruct::Reader;

/// The first thing that was wrong; empty while nothing is.
struct complaint {
  std::string text;

  void add(std::string what) {
    if (text.empty())
      text = std::move(what);
  }
};

template <class T>
void get(struct_reader from, T& value, complaint& wrong);

bool is_utf8(std::string_view text);

template <class T>
void get_scalar(const capnp::DynamicValue::Reader& from, T& value, complaint& wrong) {
  if constexpr (is_id<T>) {
    get_scalar(from, value.value, wrong);
  } else if constexpr (std::same_as<T, std::string>) {
    if (from.getType() == capnp::DynamicValue::DATA) {
      auto bytes = from.as<capnp::Data>();
      value.assign(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
      return;
    }
    auto text = from.as<capnp::Text>();
    value.assign(text.begin(), text.size());
    if (!is_utf8(value))
      wrong.add("a text is not UTF-8");
  } else if constexpr (fixed_bytes<T>) {
    auto bytes = from.as<capnp::Data>();
    if (bytes.size() == 0)
      return;
    if (bytes.size() != value.bytes.size())
      return wrong.add(
        "a digest or id has " + std::to_string(bytes.size()) + " bytes instead of "
        + std::to_string(value.bytes.size())
      );
    std::copy(bytes.begin(), bytes.end(), value.bytes.begin());
  } else if constexpr (moment<T>) {
    set_ticks(value, from.as<std::int64_t>());
  } else if constexpr (std::is_enum_v<T>) {
    auto read = from.as<capnp::DynamicEnum>();
    if (read.getRaw() >= read.getSchema().getEnumerants().size())
      return wrong.add("an enumeration holds the unknown value " + std::to_string(read.getRaw()));
    value = static_cast<T>(read.getRaw());
  } else {
    value = from.as<T>();
  }
}

template <class T>
void get_list(capnp::DynamicList::Reader from, std::vector<T>& values, complaint& wrong) {
  values.reserve(std::min<std::size_t>(from.size(), 1'024));
  for (auto element : from) {
    auto& value = values.emplace_back();
    if constexpr (std::is_class_v<T> && !is_id<T> && !fixed_bytes<T> && !std::same_as<T, std::string>)
      get(element.template as<capnp::DynamicStruct>(), value, wrong);
    else
      get_scalar(element, value, wrong);
    if (!wrong.text.empty())
      return;
  }
}

inline void get_list(capnp::DynamicList::Reader from, text_map& values, complaint& wrong) {
  for (auto element : from) {
    auto entry = element.as<capnp::DynamicStruct>();
    std::string key;
    std::string value;
    get_scalar(entry.get("key"), key, wrong);
    get_scalar(entry.get("value"), value, wrong);
    values.insert_or_assign(std::move(key), std::move(value));
  }
}

template <class T>
void get_member(struct_reader from, capnp::StructSchema::Field field, T& value, complaint& wrong) {
  if constexpr (is_a<T, std::optional>) {
    if (!from.has(field))
      return;
    auto& present = value.emplace();
    if constexpr (std::is_arithmetic_v<typename T::value_type>)
      get_scalar(from.get(field).template as<capnp::DynamicStruct>().get("value"), present, wrong);
    else
      get_member(from, field, present, wrong);
  } else if constexpr (is_a<T, std::vector> || std::same_as<T, text_map>) {
    get_list(from.get(field).template as<capnp::DynamicList>(), value, wrong);
  } else if constexpr (std::is_class_v<T> && !is_id<T> && !fixed_bytes<T> && !moment<T> && !std::same_as<T, std::string>) {
    get(from.get(field).template as<capnp::DynamicStruct>(), value, wrong);
  } else {
    get_scalar(from.get(field), value, wrong);
  }
}

/// Reads the alternative number `at`.
template <std::size_t I = 0, class V>
void get_alternative(
  std::size_t at, struct_reader from, capnp::StructSchema::Field field, V& value, complaint& wrong
) {
  if constexpr (I < std::variant_size_v<V>) {
    if (at != I)
      return get_alternative<I + 1>(at, from, field, value, wrong);
    get(from.get(field).template as<capnp::DynamicStruct>(), value.template emplace<I>(), wrong);
  }
}

template <class T>
void get(struct_reader from, T& value, complaint& wrong) {
  if (!wrong.text.empty())
    return;
  const auto& list = fields_of<T>(from.getSchema());
  if constexpr (is_a<T, std::variant>) {
    KJ_IF_MAYBE (which, from.which()) {
      for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i] == *which)
          return get_alternative(i, from, list[i], value, wrong);
    }
    wrong.add("a union holds a member that this version does not know");
  } else {
    std::size_t at = 0;
    ledger::fields(
      [&](std::string_view, auto& member) { get_member(from, list[at++], member, wrong); }, value
    );
  }
}

} // namespace assay::wire::walk
