// SPDX-License-Identifier: BSD-3-Clause
// Training through the operators of sequences.
#include <doctest/doctest.h>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>

#include "../support/made_up.hpp"
#include "check_training.hpp"

namespace {

// clang-format off
/// Words, an LSTM of two layers and two directions, a GRU that gives its last state.
struct recurrent : zp::model<zp::indices<5>,
    zp::embedding<"words", 11, 6>,
    zp::lstm<"lstm", 4, zp::recurrent_options{.layers = 2, .bidirectional = true}>,
    zp::gru<"gru", 5, zp::recurrent_options{.output = zp::recurrent_output::final_state}>,
    zp::linear<"fc", 3>> {};

/// A transformer encoder of two heads, behind words and positions that are learned.
struct encoder : zp::model<zp::named<"words", zp::indices<6>>, zp::embedding<"table", 9, 8>,
    zp::add<zp::identity, zp::constant<"positions", 1, 6, 8>>,
    zp::encoder<"layers", 1, 2, 12, zp::gelu>,
    zp::residual<zp::rms_norm<"norm">, zp::mul_scalar<std::ratio<1, 3>>, zp::linear<"more", 8>>,
    zp::rms_norm<"heads", zp::rms_norm_options{.groups = 2}>, zp::mean<zp::axes::width>, zp::linear<"fc", 4>> {};

/// A table whose rows are read, and one whose rows are summed.
struct tables : zp::model<zp::indices<6>,
    zp::concat<zp::sequential<zp::embedding<"words", 9, 7>, zp::mean<zp::axes::width>>, zp::embedding_bag<"bags", 9, 5>>,
    zp::linear<"fc", 60>> {};
// clang-format on

struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>> {};
struct tables_of_4_bits : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                                      zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>,
                                      zp::embedding_bits<4>> {};

}  // namespace

TEST_CASE("train: words, LSTM and GRU") {
    check_training::gradients(made_up::network<recurrent>(1), 11);
    check_training::trained_is_converted<config>(made_up::network<recurrent>(1), 11);
}
TEST_CASE("train: an encoder") {
    check_training::gradients(made_up::network<encoder>(2), 9);
    check_training::trained_is_converted<config>(made_up::network<encoder>(2), 9);
}
// What the codes of such a table mean is in coded_parameters.cpp; read past its end, this fails under AddressSanitizer alone.
TEST_CASE("train: tables of 4 bits") {
    check_training::gradients(made_up::network<tables>(3), 9);
    check_training::trained_is_converted<tables_of_4_bits>(made_up::network<tables>(3), 9);
}
