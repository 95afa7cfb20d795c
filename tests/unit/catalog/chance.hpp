#pragma once
// Random declarations that are allowed, from a seed: for the property that rendering and parsing
// are inverse.

#include "src/catalog/declarations.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace assay::catalog::testing {

class chance {
public:
  explicit chance(std::uint32_t seed) : engine_{seed} {}

  catalog::declaration declaration();

private:
  std::uint64_t number(std::uint64_t least, std::uint64_t most);
  bool coin() { return number(0, 1) == 1; }
  template <class T>
  T some(std::uint64_t most) {
    return static_cast<T>(number(0, most));
  }
  std::string name();
  std::string text(); ///< Anything a person may write in one line, traps of YAML included.
  std::vector<std::string> names();
  contract::request_limits limits();
  contract::service_contract contract();
  contract::objective objective();
  digest hash();
  artifact_file file();

  catalog::pool pool();
  catalog::model model();
  catalog::artifact artifact();
  catalog::implementation implementation();
  suite_document suite();
  catalog::policy policy();
  catalog::project project();
  catalog::key key();
  model_id model_name();

  std::mt19937 engine_;
};

} // namespace assay::catalog::testing
