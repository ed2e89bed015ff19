// SPDX-License-Identifier: BSD-3-Clause
// The C interface through which compare.py calls zeropoint.
#pragma once

#include <cstdint>

extern "C" {

/// The convolutions and matrix products that are compared, each with a geometry known when this was compiled, as the
/// layers of a model have. `extents` receives: in height, width, channels; out height, width, channels; kernel height,
/// width; stride; padding; groups.
int zp_case_count();
const char* zp_case_name(int index);
void zp_case_extents(int index, int extents[11]);

/// Quantizes and packs weights, out channels x in channels x height x width, and a bias for each output channel, all floats.
/// `range`: 0 weights of 8 bits, 1 of 4 bits, 2 activations of 7 bits.
void* zp_layer_new(int index, int range, const float* weights, const float* bias, float x_scale, int x_zero_point,
                   float y_scale, int y_zero_point);
void zp_layer_run(void* layer, const std::uint8_t* x, std::uint8_t* y, int repeats);
/// Packed weights, biases and scales.
long zp_layer_packed_bytes(const void* layer);
const char* zp_layer_algorithm(const void* layer);
void zp_layer_delete(void* layer);

/// One burst of the machine's limit in GOPS, see bench/support/peak.hpp: 0 int16 pairs, 1 byte quads, 2 float multiply-add.
double zp_peak(int kind);

/// Whole networks, see bench/models.
int zp_model_count();
const char* zp_model_name(int index);
void* zp_model_new(int index);
/// x: height x width x channels floats. `figures` receives: in height, width, channels; out height, width, channels;
/// arena bytes; parameter bytes; multiplications of one inference.
void zp_model_figures(void* model, int figures[9]);
void zp_model_save_float(void* model, const char* path);
void zp_model_run_int8(void* model, const float* x, float* y, int repeats);
void zp_model_run_float(void* model, const float* x, float* y, int repeats);
/// By a thread pool of so many workers, of which the calling thread is one. Pools are kept.
void zp_model_run_int8_by(void* model, int workers, const float* x, float* y, int repeats);
void zp_model_delete(void* model);

/// Small networks that run a step at a time, see bench/models/timed_stream.hpp. `figures` receives: inputs; outputs;
/// multiplications of one step.
int zp_stream_count();
const char* zp_stream_name(int index);
void* zp_stream_new(int index);
void zp_stream_figures(void* stream, int figures[3]);
void zp_stream_save_float(void* stream, const char* path);
void zp_stream_reset(void* stream);
void zp_stream_run_int8(void* stream, const float* x, float* y, int steps);
void zp_stream_run_float(void* stream, const float* x, float* y, int steps);
void zp_stream_delete(void* stream);
}
