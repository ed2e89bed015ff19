// No golden vector without a reader: the last of the files in tests/layer that read some (see unread_tensors).
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../support/golden_file.hpp"

// Needs a whole run of this program: alone, or under a filter that leaves readers out, it fails.
TEST_CASE(
    "golden vectors: every file has a room that reads it, and the tests of this room have read every tensor of "
    "theirs") {
    // The files that are read here; what of them zeropoint has no operator for, or is read elsewhere.
    const std::map<std::string, std::vector<std::string>> here = {
        {"operators_attention", {}},      {"operators_convolution", {}},   {"operators_dynamic", {}},
        {"operators_dynamic_layers", {}}, {"operators_elementwise", {}},   {"operators_embedding", {}},
        {"operators_litert", {}},         {"operators_litert_layers", {}}, {"operators_litert_words", {}},
        {"operators_normalization", {}},  {"operators_onnxruntime", {}},   {"operators_onnxruntime_layers", {}},
        {"operators_pooling", {}},        {"operators_rearrange", {}},     {"operators_svdf", {}},
        {"operators_unary", {}},          {"quantized_ops", {}},
    };
    // tests/workflow; tests/models, observe and scheme, which check themselves; tests/io.
    std::set<std::string> known = {"digits_logits", "networks", "observers", "quantize", "safetensors_fixture"};
    for (const auto& [name, other] : here) {
        known.insert(name);
        std::string unread;
        for (const std::string& tensor : zp_test::unread_tensors(name, other)) unread += tensor + "\n";
        CHECK_MESSAGE(unread.empty(), name, " has tensors that no test reads:\n", unread);
    }
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(ZEROPOINT_SOURCE_DIR "/tests/golden"))
        found.insert(entry.path().stem().string());
    CHECK(found == known);
}
