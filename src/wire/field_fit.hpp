#pragma once
// Does a message that holds fields which this version does not know still hold the known ones in
// their only form: what is empty as a null pointer, mappings in order? Only the codecs of this
// folder include it, for bytes that encoding again did not give.

#include "src/wire/canonical_read.hpp"
#include "src/wire/canonical_write.hpp"

namespace assay::wire::walk {

template <class T>
bool fits(struct_reader from, const T& value, const layout& by);

template <class T>
bool list_fits(capnp::AnyPointer::Reader from, const std::vector<T>& values, const place& p) {
  if constexpr (blob<T>) {
    auto list = from.getAs<capnp::AnyList>().as<capnp::List<capnp::AnyPointer>>();
    for (unsigned i = 0; i < values.size(); ++i)
      if (list[i].isNull() != is_null(values[i]))
        return false;
  } else if constexpr (composite<T>) {
    auto list = structs_of(from);
    for (unsigned i = 0; i < values.size(); ++i)
      if (!fits(struct_reader{list[i]}, values[i], layout_at<T>(p)))
        return false;
  }
  return true;
}

/// Names ascend, each once; `values` is the mapping that the list was read into.
inline bool list_fits(capnp::AnyPointer::Reader from, const text_map& values, const place&) {
  auto list = structs_of(from);
  if (list.size() != values.size())
    return false;
  unsigned i = 0;
  for (const auto& [key, value] : values) {
    const struct_reader entry{list[i++]};
    auto name = entry.pointer(0).getAs<capnp::Text>();
    if (std::string_view{name.begin(), name.size()} != key
        || entry.pointer(0).isNull() != key.empty() || entry.pointer(1).isNull() != value.empty())
      return false;
  }
  return true;
}

template <class M>
bool member_fits(capnp::AnyPointer::Reader from, const M& member, const place& p) {
  if constexpr (is_a<M, std::optional>) {
    if constexpr (std::is_arithmetic_v<typename M::value_type>)
      return true;
    else
      return !member || member_fits(from, *member, p);
  } else if constexpr (blob<M>) {
    return from.isNull() == is_null(member);
  } else if constexpr (is_a<M, std::vector> || std::same_as<M, text_map>) {
    return from.isNull() == is_null(member) && (is_null(member) || list_fits(from, member, p));
  } else {
    return !from.isNull()
           && fits(struct_reader{from.getAs<capnp::AnyStruct>()}, member, layout_at<M>(p));
  }
}

template <class T>
bool fits(struct_reader from, const T& value, const layout& by) {
  bool all = true;
  if constexpr (is_a<T, std::variant>) {
    const auto& p = by.members[value.index()];
    std::visit(
      [&](const auto& chosen) { all = member_fits(from.pointer(p.at), chosen, p); }, value
    );
  } else {
    auto where = by.members.begin();
    ledger::fields(
      [&]<class M>(std::string_view, const M& member) {
        const auto& p = *where++;
        if constexpr (!plain<M>)
          all = member_fits(from.pointer(p.at), member, p) && all;
      },
      value
    );
  }
  return all;
}

} // namespace assay::wire::walk
