/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and texts in a pickle and in JSON, and the file of a dump. */
#include "flight_writer.h"

#include <c10/util/Exception.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace rcx_torch
{

/* ---- Pickle -------------------------------------------------------------- */

/* The n lowest bytes, the lowest one first. */
static void append_bytes(std::string &out, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        out += static_cast<char>(value >> 8 * i);
}

void PickleWriter::number(int64_t value)
{
    const auto bits = static_cast<uint64_t>(value);

    if (value >= INT32_MIN && value <= INT32_MAX) {
        out_ += 'J';
        append_bytes(out_, bits, 4);
    } else {
        out_ += "\x8a\x08"; /* of 8 bytes */
        append_bytes(out_, bits, 8);
    }
}

void PickleWriter::real(double value)
{
    uint64_t bits = 0;

    memcpy(&bits, &value, sizeof bits);
    out_ += 'G';
    for (int i = 7; i >= 0; i--)
        out_ += static_cast<char>(bits >> 8 * i);
}

void PickleWriter::text(const std::string &value)
{
    out_ += 'X';
    append_bytes(out_, value.size(), 4);
    out_ += value;
}

/* ---- JSON ---------------------------------------------------------------- */

void JsonWriter::real(double value)
{
    std::array<char, 32> text{};

    snprintf(text.data(), text.size(), "%.17g", value);
    plain(text.data());
}

void JsonWriter::text(const std::string &value)
{
    std::string quoted = "\"";

    for (const char c : value) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> code{};

            snprintf(code.data(), code.size(), "\\u%04x", c);
            quoted += code.data();
        } else {
            quoted += c;
        }
    }
    plain(quoted + '"');
}

/* ---- Files --------------------------------------------------------------- */

static bool write_all(int fd, const std::string &text)
{
    size_t at = 0;

    while (at < text.size()) {
        const ssize_t n = write(fd, text.data() + at, text.size() - at);

        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? static_cast<size_t>(n) : 0;
    }
    return true;
}

/* The other name has no digits at its end: PyTorch's analyser would take it for
 * the dump of a rank. */
void write_file(const std::string &path, const std::string &text)
{
    const size_t slash = path.rfind('/');
    const size_t name = slash == std::string::npos ? 0 : slash + 1;
    const std::string other = path.substr(0, name) + "." + path.substr(name) +
                              "." + std::to_string(getpid()) + ".part";
    unlink(other.c_str()); // another user's link is not followed
    const int fd =
        open(other.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool is_written = fd >= 0 && write_all(fd, text);
    const int error = errno;

    if (fd >= 0)
        close(fd);
    TORCH_CHECK(is_written && rename(other.c_str(), path.c_str()) == 0,
                "rcx: cannot write the dump ", path, ": ",
                strerror(is_written ? errno : error));
}

} // namespace rcx_torch
