// SPDX-License-Identifier: BSD-3-Clause
// No golden vector without a reader: the last of the files in tests/layer that read some (see unread_tensors).
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "../support/golden_file.hpp"

// Needs a whole run of this program: alone, or under a filter that leaves readers out, it fails.
TEST_CASE("golden vectors: the tests of this room have read every tensor of the files that no other room reads" *
          doctest::test_suite("whole_room")) {
    // tests/workflow, methods, training and kernel; tests/models, observe and scheme, which check themselves; tests/io.
    const std::set<std::string> elsewhere = {"decoder_layers",
                                             "decoders",
                                             "digits_logits",
                                             "gptq_network",
                                             "llama_pretrained",
                                             "llama_variants",
                                             "masked_attention",
                                             "methods",
                                             "networks",
                                             "observers",
                                             "operators_weight_only",
                                             "quantization_debugger",
                                             "quantize",
                                             "safetensors_fixture",
                                             "shared_ranges",
                                             "shared_ranges_signed",
                                             "shared_ranges_unsigned",
                                             "shared_ranges_words",
                                             "training_batch_norms",
                                             "training_convolutions",
                                             "training_layers",
                                             "training_loop",
                                             "training_pieces",
                                             "training_sequences",
                                             "vision"};
    // What says how to compute, of which a copy or a maximum needs less than there is, and the exact codes of a layer that is
    // equal to the other system's. What goes in and what comes out is read.
    const std::set<std::string> told = {"scale", "zero_point", "options", "exact"};
    for (const auto& entry : std::filesystem::directory_iterator(ZEROPOINT_SOURCE_DIR "/tests/golden")) {
        const std::string name = entry.path().stem().string();
        if (elsewhere.count(name) != 0) continue;
        std::string unread;
        for (const std::string& tensor : zp_test::unread_tensors(name))
            if (told.count(tensor.substr(tensor.rfind('/') + 1)) == 0) unread += tensor + "\n";
        CHECK_MESSAGE(unread.empty(), name, " has tensors that no test reads:\n", unread);
    }
}
