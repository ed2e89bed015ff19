// SPDX-License-Identifier: BSD-3-Clause
// The networks of bench/models behind the C interface.
#include <algorithm>
#include <array>

#include "../models/timed_model.hpp"
#include "zeropoint_c.hpp"

namespace {
models::timed_model& of(void* model) { return *static_cast<models::timed_model*>(model); }
const models::named_model& named(int index) { return models::timed_models()[static_cast<std::size_t>(index)]; }
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
void zp_model_delete(void* model) { delete static_cast<models::timed_model*>(model); }
