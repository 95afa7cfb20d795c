#pragma once
// One replica of a model of any task, behind an ingress, and any path to ask it by.

#include "tests/unit/http/ingress_fixture.hpp"

namespace assay::tests {

struct serving {
  serving(
    contract::task what,
    mock_upstream::script script,
    std::initializer_list<contract::operation> more = {}
  )
    : replica{std::move(script)}, ingress{{{replica.port()}}} {
    ingress.world.promises.task = what;
    for (auto operation : more)
      ingress.world.operations.add(operation);
    ingress.start();
  }

  mock_upstream replica;
  ingress_fixture ingress;

  std::string ask(std::string_view path, std::string_view body, std::string_view fields = {}) {
    raw_client client{ingress.port()};
    client.send(
      "POST " + std::string{path} + " HTTP/1.1\r\nHost: assay:7100\r\nAuthorization: Bearer "
      + std::string{test_key} + "\r\nConnection: close\r\n" + std::string{fields}
      + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body}
    );
    return client.read_all();
  }
  routing::outcome outcome() { return ingress.outcomes.wait_for(1)[0]; }
};

} // namespace assay::tests
