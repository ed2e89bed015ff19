// Runs the committed int8 models over the test images and prints a checksum of every integer they compute: the same on
// every compiler, optimization level and architecture, as are the bytes of the files when it saves the models again. scripts/check_identical_integers.py builds it in many ways.
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <zeropoint/deploy.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"
#include "../../examples/01_digits/digits_data.hpp"
#include "../../examples/01_digits/fingerprint.hpp"

int main() try {
    const std::string root = ZEROPOINT_SOURCE_DIR;
    const digits data = load_digits(root + "/examples/01_digits/data");
    fnv1a all;
    std::string lines;
    for_each_qconfig([&]<class QConfig>(const std::string& name) {
        const std::vector<std::byte> file =
            zp::read_whole_file(root + "/tests/identity/models/" + name + ".safetensors");
        const auto model = zp::load<zp::quantized<digits_cnn, QConfig>>(file);
        if (zp::to_bytes(model) != file) zp::raise<zp::file_error>(name + ": saved again, the file has other bytes");
        const std::uint64_t hash = fingerprint(model, data.test.images);
        all.add_numbers(&hash, 1, sizeof hash);
        char line[64];
        std::snprintf(line, sizeof line, "%-22s %016" PRIx64 "\n", name.c_str(), hash);
        lines += line;
    });
    std::printf("checksum %016" PRIx64 "\n%s", all.hash(), lines.c_str());
} catch (const zp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
