/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writers of a dump of the flight recorder: the pickle that PyTorch's analyser
 * reads (protocol 2), and JSON. No Python is needed, so a dump can be written
 * while another thread keeps Python's lock.
 */
#ifndef RCX_BINDINGS_TORCH_FLIGHT_WRITER_H
#define RCX_BINDINGS_TORCH_FLIGHT_WRITER_H

#include <cstdint>
#include <string>

namespace rcx_torch
{

/* Write text to path: under another name first, so that no reader sees a part
 * of it. Throws an exception if that is not possible. */
void write_file(const std::string &path, const std::string &text);

/* What both have: items of a dict. */
template <class Writer> class Items
{
  public:
    void item(const char *name, const std::string &value)
    {
        self().key(name);
        self().text(value);
    }
    void item(const char *name, uint64_t value)
    {
        self().key(name);
        self().number(static_cast<int64_t>(value));
    }

  private:
    Writer &self()
    {
        return *static_cast<Writer *>(this);
    }
};

class PickleWriter : public Items<PickleWriter>
{
  public:
    static constexpr bool is_json = false;

    void begin_dict()
    {
        out_ += "}(";
    }
    void end_dict()
    {
        out_ += 'u';
    }
    void begin_list()
    {
        out_ += "](";
    }
    void end_list()
    {
        out_ += 'e';
    }
    void key(const std::string &name)
    {
        text(name);
    }
    void none()
    {
        out_ += 'N';
    }
    void truth(bool value)
    {
        out_ += value ? '\x88' : '\x89';
    }
    void number(int64_t value);
    void real(double value);
    void text(const std::string &value);
    void pair(const std::string &a, const std::string &b)
    {
        text(a);
        text(b);
        out_ += '\x86'; /* a tuple of two */
    }
    void status(const char *name, int64_t value)
    {
        key(name);
        number(value);
    }
    std::string done()
    {
        return out_ + '.';
    }

  private:
    std::string out_ = "\x80\x02";
};

class JsonWriter : public Items<JsonWriter>
{
  public:
    static constexpr bool is_json = true;

    void begin_dict()
    {
        begin('{');
    }
    void end_dict()
    {
        end('}');
    }
    void begin_list()
    {
        begin('[');
    }
    void end_list()
    {
        end(']');
    }
    void key(const std::string &name)
    {
        text(name);
        out_ += ": ";
        is_first_ = true; /* no comma before its value */
    }
    void none()
    {
        plain("null");
    }
    void truth(bool value)
    {
        plain(value ? "true" : "false");
    }
    void number(int64_t value)
    {
        plain(std::to_string(value));
    }
    void real(double value);
    void text(const std::string &value);
    void pair(const std::string &a, const std::string &b)
    {
        begin_list();
        text(a);
        text(b);
        end_list();
    }
    /* As PyTorch has it: a text. */
    void status(const char *name, int64_t value)
    {
        item(name, std::to_string(value));
    }
    std::string done()
    {
        return out_ + '\n';
    }

  private:
    void begin(char bracket)
    {
        plain(std::string(1, bracket));
        is_first_ = true;
    }
    void end(char bracket)
    {
        out_ += bracket;
        is_first_ = false;
    }
    void plain(const std::string &value)
    {
        if (!is_first_)
            out_ += ", ";
        out_ += value;
        is_first_ = false;
    }

    std::string out_;
    bool is_first_ = true;
};

} // namespace rcx_torch

#endif
