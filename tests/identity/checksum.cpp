// SPDX-License-Identifier: BSD-3-Clause
// Runs the committed int8 models over their images and prints a checksum of every integer they compute: the same on every
// compiler, optimization level and architecture, as are the tensors of the files when it saves the models again.
// scripts/check_identical_integers.py and scripts/architectures/run.py build it in many ways, the latter also over one image in
// ZEROPOINT_IDENTITY_IMAGES of the digits, whose checksums are those of expected_8.txt: an emulator takes a minute for all of them.
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
#include "../support/same_tensors.hpp"
#include "blocks.hpp"

#ifndef ZEROPOINT_IDENTITY_IMAGES
#define ZEROPOINT_IDENTITY_IMAGES 1
#endif

namespace {
const std::string root = ZEROPOINT_SOURCE_DIR;

/// One in ZEROPOINT_IDENTITY_IMAGES, from the first on.
std::vector<image> some(const std::vector<image>& all) {
    std::vector<image> chosen;
    for (std::size_t i = 0; i < all.size(); i += ZEROPOINT_IDENTITY_IMAGES) chosen.push_back(all[i]);
    return chosen;
}

/// A line for each model, and one checksum of all.
class report {
public:
    template <class Int8, class Images> void add(const std::string& name, const Images& images) {
        const std::vector<std::byte> file =
            zp::read_whole_file(root + "/tests/identity/models/" + name + ".safetensors");
        const auto model = zp::load<Int8>(file);
        // The committed files are of format 1; what is saved now has checksums and names beside that.
        if (!zp_test::same_tensors(file, zp::to_bytes(model)))
            zp::raise<zp::file_error>(name + ": saved again, the file has other tensors");
        const std::uint64_t hash = fingerprint(model, images);
        all_.add_numbers(&hash, 1, sizeof hash);
        char line[64];
        std::snprintf(line, sizeof line, "%-22s %016" PRIx64 "\n", name.c_str(), hash);
        lines_ += line;
    }
    void print() const { std::printf("checksum %016" PRIx64 "\n%s", all_.hash(), lines_.c_str()); }

private:
    fnv1a all_;
    std::string lines_;
};
}  // namespace

int main() try {
    report models;
    const std::vector<image> images = some(load_digits(root + "/examples/01_digits/data").test.images);
    for_each_qconfig(
        [&]<class QConfig>(const std::string& name) { models.add<zp::quantized<digits_cnn, QConfig>>(name, images); });
    for_each_block([&]<class Block>(const std::string& name) {
        using int8 = quantized_block<Block>;
        models.add<int8>(name, made_up_images(int8::input_shape, 8, 1000));
    });
    models.print();
} catch (const zp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
