/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators whose elements record how they were combined (operators.h): atoms
 * for proofs, words for error messages. The fixed tree of the order level
 * CANONICAL is computed here independently of lib/algo.
 */
#include "operators.h"

#include <string.h>

enum { SALT_RANK = 1, SALT_INDEX, SALT_ORDERED, SALT_BRACKET };

/* The finisher of splitmix64. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint64_t word(uint64_t value, uint64_t salt)
{
    return mix(value * UINT64_C(0x9E3779B97F4A7C15) + (salt << 56) + salt);
}

/*
 * The random word of an operand is the product of a weight of its rank and a
 * factor of its index. So the sum over ranks is cheap to compute for every
 * index.
 */
static uint64_t weight_of(int rank)
{
    return word((uint64_t)rank, SALT_RANK);
}

static uint64_t factor_of(size_t index)
{
    return word(index, SALT_INDEX) | 1;
}

static uint64_t join_ordered(uint64_t left, uint64_t right)
{
    return mix(left * UINT64_C(0xD1342543DE82EF95) + right);
}

static void atom_leaf(void *elem, int rank, size_t index)
{
    *(struct proof_atom *)elem =
        (struct proof_atom){.lo = rank,
                            .operands = 1,
                            .sum = weight_of(rank) * factor_of(index),
                            .ordered = word((uint64_t)rank, SALT_ORDERED),
                            .bracket = word((uint64_t)rank, SALT_BRACKET)};
}

static bool are_neighbours(const struct proof_atom *l,
                           const struct proof_atom *r)
{
    return l->lo >= 0 && r->lo >= 0 &&
           (uint64_t)l->lo + l->operands == (uint64_t)r->lo;
}

static int combine_atoms(void *dst, const void *left, const void *right,
                         size_t count, rcx_datatype_t type, void *arg)
{
    const struct proof_atom *l = left, *r = right;
    struct proof_atom *d = dst;

    (void)type;
    (void)arg;
    for (size_t i = 0; i < count; i++)
        d[i] = (struct proof_atom){
            .lo = are_neighbours(&l[i], &r[i]) ? l[i].lo : PROOF_DISORDER,
            .operands = l[i].operands + r[i].operands,
            .sum = l[i].sum + r[i].sum,
            .ordered = join_ordered(l[i].ordered, r[i].ordered),
            .bracket = mix(l[i].bracket + r[i].bracket)};
    return 0;
}

const struct proof_operator proof_atoms = {
    .elem_bytes = sizeof(struct proof_atom),
    .combine = combine_atoms,
    .leaf = atom_leaf,
};

/* The fixed tree, computed independently of lib/algo to find mistakes there:
 * [lo, hi) splits at the largest power of two below its length. */
static int split(int lo, int hi)
{
    int half = 1;

    while (2 * half < hi - lo)
        half *= 2;
    return lo + half;
}

static uint64_t tree_hash(int lo, int hi)
{
    if (hi - lo == 1)
        return word((uint64_t)lo, SALT_ORDERED);
    return join_ordered(tree_hash(lo, split(lo, hi)),
                        tree_hash(split(lo, hi), hi));
}

struct proof_target proof_target_of(int lo, int hi)
{
    struct proof_target target = {
        .lo = lo, .hi = hi, .ordered = tree_hash(lo, hi)};

    for (int i = lo; i < hi; i++)
        target.weight += weight_of(i);
    return target;
}

bool proof_is_complete(const struct proof_target *target,
                       const struct proof_atom *atom, size_t index)
{
    return atom->operands == (uint32_t)(target->hi - target->lo) &&
           atom->sum == target->weight * factor_of(index);
}

static void word_leaf(void *elem, int rank, size_t index)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    struct proof_word w = {.index = (int64_t)index};

    w.text[0] = letters[rank % PROOF_WORD_SIZE_MAX];
    memcpy(elem, &w, sizeof w);
}

/* Append text as far as it fits; return the new length. */
static size_t append(struct proof_word *w, size_t at, const char *text)
{
    const size_t room = PROOF_WORD_BYTES - 1 - at;
    const size_t length = strnlen(text, PROOF_WORD_BYTES);
    const size_t taken = length < room ? length : room;

    memcpy(w->text + at, text, taken);
    return at + taken;
}

static struct proof_word join_words(const struct proof_word *l,
                                    const struct proof_word *r)
{
    struct proof_word w = {.index = l->index == r->index ? l->index : -1};
    size_t at = append(&w, 0, "(");

    at = append(&w, at, l->text);
    at = append(&w, at, r->text);
    append(&w, at, ")");
    return w;
}

static int combine_words(void *dst, const void *left, const void *right,
                         size_t count, rcx_datatype_t type, void *arg)
{
    const struct proof_word *l = left, *r = right;
    struct proof_word *d = dst;

    (void)type;
    (void)arg;
    for (size_t i = 0; i < count; i++)
        d[i] = join_words(&l[i], &r[i]);
    return 0;
}

const struct proof_operator proof_words = {
    .elem_bytes = sizeof(struct proof_word),
    .combine = combine_words,
    .leaf = word_leaf,
};

static struct proof_word tree_word(int lo, int hi, size_t index)
{
    struct proof_word left, right;

    if (hi - lo == 1) {
        word_leaf(&left, lo, index);
        return left;
    }
    left = tree_word(lo, split(lo, hi), index);
    right = tree_word(split(lo, hi), hi, index);
    return join_words(&left, &right);
}

struct proof_word proof_word_of(int lo, int hi, size_t index)
{
    return tree_word(lo, hi, index);
}

void proof_word_print(const struct proof_word *w, char *text)
{
    for (size_t i = 0; i < PROOF_WORD_BYTES; i++) {
        const char c = w->text[i];

        text[i] = c == 0 || (c > ' ' && c < 127) ? c : '?';
    }
    text[PROOF_WORD_BYTES - 1] = 0;
}
