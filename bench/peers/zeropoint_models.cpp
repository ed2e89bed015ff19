// SPDX-License-Identifier: BSD-3-Clause
// The networks of bench/models behind the C interface.
#include <algorithm>
#include <array>
#include <map>

#include <zeropoint/executors/thread_pool.hpp>

#include "../models/timed_model.hpp"
#include "../models/timed_stream.hpp"
#include "zeropoint_c.hpp"

namespace {

models::timed_model& of(void* model) { return *static_cast<models::timed_model*>(model); }
const models::named_model& named(int index) { return models::timed_models()[static_cast<std::size_t>(index)]; }
models::timed_stream& stream_of(void* stream) { return *static_cast<models::timed_stream*>(stream); }
const models::named_stream& named_stream(int index) { return models::timed_streams()[static_cast<std::size_t>(index)]; }

}  // namespace

int zp_model_count() { return static_cast<int>(models::timed_models().size()); }
const char* zp_model_name(int index) { return named(index).name; }
void* zp_model_new(int index) { return named(index).make().release(); }
void zp_model_figures(void* model, int figures[9]) {
    const models::timed_model& one = of(model);
    const zp::shape in = one.input_shape(), out = one.output_shape();
    const std::array all{in.height,
                         in.width,
                         in.channels,
                         out.height,
                         out.width,
                         out.channels,
                         one.arena_bytes(),
                         one.parameter_bytes(),
                         static_cast<int>(one.multiplications())};
    std::copy(all.begin(), all.end(), figures);
}
void zp_model_save_float(void* model, const char* path) { of(model).save_float(path); }
void zp_model_run_int8(void* model, const float* x, float* y, int repeats) {
    for (int i = 0; i != repeats; ++i) of(model).run_int8(x, y);
}
void zp_model_run_float(void* model, const float* x, float* y, int repeats) {
    for (int i = 0; i != repeats; ++i) of(model).run_float(x, y);
}
void zp_model_run_int8_by(void* model, int workers, const float* x, float* y, int repeats) {
    static std::map<int, zp::executors::thread_pool> pools;
    const models::any_executor with(pools.try_emplace(workers, workers).first->second);
    for (int i = 0; i != repeats; ++i) of(model).run_int8_by(with, x, y, nullptr);
}
void zp_model_delete(void* model) { delete static_cast<models::timed_model*>(model); }

int zp_stream_count() { return static_cast<int>(models::timed_streams().size()); }
const char* zp_stream_name(int index) { return named_stream(index).name; }
void* zp_stream_new(int index) { return named_stream(index).make().release(); }
void zp_stream_figures(void* stream, int figures[3]) {
    const models::timed_stream& one = stream_of(stream);
    const std::array all{one.inputs(), one.outputs(), static_cast<int>(one.multiplications())};
    std::copy(all.begin(), all.end(), figures);
}
void zp_stream_save_float(void* stream, const char* path) { stream_of(stream).save_float(path); }
void zp_stream_reset(void* stream) { stream_of(stream).reset(); }
void zp_stream_run_int8(void* stream, const float* x, float* y, int steps) { stream_of(stream).run_int8(x, y, steps); }
void zp_stream_run_float(void* stream, const float* x, float* y, int steps) {
    stream_of(stream).run_float(x, y, steps);
}
void zp_stream_delete(void* stream) { delete static_cast<models::timed_stream*>(stream); }
