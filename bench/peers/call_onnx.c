// SPDX-License-Identifier: BSD-3-Clause
/* Calls a function of ONNX Runtime's C interface, Run, many times: no Python in the time of a call. */
#include <stddef.h>

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
