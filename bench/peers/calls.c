// SPDX-License-Identifier: BSD-3-Clause
/* Calls functions of C interfaces many times: no Python in the time of a call. */
#include <stddef.h>

/* ONNX Runtime's Run. */
typedef void* run_function(void* session, const void* options, const char* const* input_names, void* const* inputs,
                           size_t input_count, const char* const* output_names, size_t output_count, void** outputs);

/* Returns the first status that is no success. */
void* call_onnx(run_function* run, void* session, void* x, void* y, int repeats) {
    static const char* const x_name[] = {"x"};
    static const char* const y_name[] = {"y"};
    for (int i = 0; i != repeats; ++i) {
        void* const status = run(session, NULL, x_name, &x, 1, y_name, 1, &y);
        if (status != NULL) return status;
    }
    return NULL;
}

/* A graph whose values "state0", "state1" of one step, as "next0", "next1", are those of the following one: two buffers of
 * each that take turns. */
void* call_onnx_steps(run_function* run, void* session, void* x, void* y, int states, void* const* even, void* const* odd,
                      int repeats) {
    static const char* const in_names[] = {"x", "state0", "state1", "state2", "state3"};
    static const char* const out_names[] = {"y", "next0", "next1", "next2", "next3"};
    for (int i = 0; i != repeats; ++i) {
        void *in[5] = {x}, *out[5] = {y};
        for (int k = 0; k != states; ++k) {
            in[k + 1] = i % 2 == 0 ? even[k] : odd[k];
            out[k + 1] = i % 2 == 0 ? odd[k] : even[k];
        }
        void* const status = run(session, NULL, in_names, in, (size_t)states + 1, out_names, (size_t)states + 1, out);
        if (status != NULL) return status;
    }
    return NULL;
}

/* OpenVINO's ov_infer_request_infer; 0 is success. */
int call_openvino(int (*infer)(void* request), void* request, int repeats) {
    int status = 0;
    for (int i = 0; i != repeats && status == 0; ++i) status = infer(request);
    return status;
}
