/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds fused reductions: trees of a few operands whose intermediate
 * results only the tree itself reads. The executor makes all of a tree's
 * reductions when the last one is due, in one pass over memory. They remain
 * steps, so dependencies do not change, and no deadlock is added.
 *
 * Nothing overwrites the operands in the meantime: a step that did would be a
 * successor of the reduction that reads them, and the only successors of that
 * reduction are others of the tree.
 */
#include "core/sched/algo.h"

/* What is found of a step. Steps count from 1; 0: none. */
struct node {
    uint32_t parent;   /* the only step that sees its result, a reduction */
    uint32_t root;     /* the last reduction of its tree */
    uint32_t operands; /* of the tree that ends here */
    uint32_t first;    /* of a root: its first part, from 1 on */
    uint32_t size;     /* of a root: number of parts, */
    uint32_t stored;   /* and of those stored */
};

/* Data of the pass. Spans are resolved. */
struct pass {
    const struct rcx_shape *shape;
    struct rcx_step *steps;
    const uint32_t *successors;
    struct node *nodes;
    struct rcx_fused_part *parts;
    uint32_t step_count, part_count;
    uint32_t most; /* operands of a tree */
};

uint32_t rcx_reductions_count(const struct rcx_builder *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->step_count; i++)
        n += b->steps[i].kind == RCX_STEP_REDUCE;
    return n;
}

static bool is_reduction(const struct rcx_step *step)
{
    return step->kind == RCX_STEP_REDUCE && step->count > 0;
}

static bool is_same(struct rcx_span a, struct rcx_span b)
{
    return a.buffer == b.buffer && a.offset == b.offset && a.count == b.count;
}

static bool is_same_or_apart(struct rcx_span a, struct rcx_span b)
{
    return is_same(a, b) || !rcx_span_meets(a, b);
}

static struct rcx_span dst_of(const struct pass *p, uint32_t step)
{
    return rcx_shape_resolve(p->shape, rcx_step_dst(&p->steps[step]));
}

static struct rcx_span left_of(const struct pass *p, uint32_t step)
{
    return rcx_shape_resolve(p->shape, rcx_step_left(&p->steps[step]));
}

static struct rcx_span right_of(const struct pass *p, uint32_t step)
{
    return rcx_shape_resolve(p->shape, rcx_step_right(&p->steps[step]));
}

/* ---- Trees --------------------------------------------------------------- */

static bool reads(const struct pass *p, uint32_t step, struct rcx_span span)
{
    return rcx_span_meets(span, left_of(p, step)) ||
           rcx_span_meets(span, right_of(p, step));
}

/* The first reduction that reads the span among the successors of step, plus
 * one. 0: there is none, or another step is a successor. */
static uint32_t find_reader(const struct pass *p, const struct rcx_step *step,
                            struct rcx_span span)
{
    uint32_t first = 0;

    for (uint32_t k = 0; k < step->successor_count; k++) {
        const uint32_t i = p->successors[step->first_successor + k];

        if (!is_reduction(&p->steps[i]))
            return 0;
        if (reads(p, i, span) && (first == 0 || i < first - 1))
            first = i + 1;
    }
    return first;
}

/*
 * Return the step, plus one, that alone sees the result of reduction i, if it
 * is a reduction; 0: none. A result outside of scratch must be overwritten by
 * it. Other successors of i overwrite its operands: see is_closed().
 */
static uint32_t find_parent(const struct pass *p, uint32_t i)
{
    const struct rcx_step *step = &p->steps[i];
    const struct rcx_span result = dst_of(p, i);
    const uint32_t parent = find_reader(p, step, result);
    bool is_overwritten;

    if (parent == 0 || (!is_same(result, left_of(p, parent - 1)) &&
                        !is_same(result, right_of(p, parent - 1))))
        return 0;
    is_overwritten = is_same(result, dst_of(p, parent - 1));
    for (uint32_t k = 0; k < step->successor_count && !is_overwritten; k++) {
        const uint32_t other = p->successors[step->first_successor + k];

        if (other != parent - 1 && reads(p, other, result))
            return 0;
    }
    return result.buffer == RCX_BUFFER_TMP || is_overwritten ? parent : 0;
}

/* A tree that would have too many operands with this subtree does without
 * it. */
static void join_parent(struct pass *p, uint32_t i)
{
    struct node *node = &p->nodes[i], *parent;

    node->operands += 2;
    node->parent = find_parent(p, i);
    if (node->parent == 0)
        return;
    parent = &p->nodes[node->parent - 1];
    /* parent counts its own two when it is reached */
    if (parent->operands + node->operands + 1 > p->most)
        node->parent = 0;
    else
        parent->operands += node->operands - 1;
}

/* Steps are in program order, so a reduction comes before its parent. */
static void find_trees(struct pass *p)
{
    for (uint32_t i = 0; i < p->step_count; i++)
        if (is_reduction(&p->steps[i]))
            join_parent(p, i);
    for (uint32_t i = p->step_count; i-- > 0;) {
        struct node *node = &p->nodes[i];

        if (!is_reduction(&p->steps[i]))
            continue;
        node->root = node->parent ? p->nodes[node->parent - 1].root : i + 1;
        p->nodes[node->root - 1].size++;
    }
}

/* ---- Parts --------------------------------------------------------------- */

static void add_part(struct pass *p, uint32_t i)
{
    struct node *root = &p->nodes[p->nodes[i].root - 1];

    if (root->first == 0) {
        root->first = p->part_count + 1;
        p->part_count += root->size;
    }
    p->parts[root->first - 1 + root->stored++] = (struct rcx_fused_part){
        .step = i, .is_last = p->nodes[i].root == i + 1};
}

/* Return the part whose result span is, among those before end; NULL: none. */
static const struct rcx_fused_part *
result_in(const struct pass *p, const struct rcx_fused_part *first,
          const struct rcx_fused_part *end, struct rcx_span span)
{
    while (end > first)
        if (is_same(dst_of(p, (--end)->step), span))
            return end;
    return NULL;
}

/* Whether all successors of all parts but the last belong to the tree. */
static bool is_closed(const struct pass *p, const struct rcx_fused_part *first,
                      uint32_t n)
{
    const uint32_t root = first[n - 1].step + 1;

    for (uint32_t i = 0; i + 1 < n; i++) {
        const struct rcx_step *step = &p->steps[first[i].step];
        const uint32_t *const after = p->successors + step->first_successor;

        for (uint32_t k = 0; k < step->successor_count; k++)
            if (p->nodes[after[k]].root != root)
                return false;
    }
    return true;
}

/* Results are computed in blocks. So a result must not overlap an operand in
 * part, nor another result. */
static bool can_work_in_blocks(const struct pass *p,
                               const struct rcx_fused_part *first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct rcx_span result = dst_of(p, first[i].step);

        for (uint32_t k = 0; k < n; k++)
            if (!is_same_or_apart(result, dst_of(p, first[k].step)) ||
                !is_same_or_apart(result, left_of(p, first[k].step)) ||
                !is_same_or_apart(result, right_of(p, first[k].step)))
                return false;
    }
    return true;
}

/* A result stays in its first block, unless it has the place of the last
 * one. */
static void set_places(const struct pass *p, struct rcx_fused_part *first,
                       uint32_t n)
{
    const struct rcx_span last = dst_of(p, first[n - 1].step);

    for (uint32_t i = 0; i < n; i++) {
        struct rcx_fused_part *part = &first[i];
        const struct rcx_fused_part *left =
            result_in(p, first, part, left_of(p, part->step));
        const struct rcx_fused_part *right =
            result_in(p, first, part, right_of(p, part->step));

        part->dst_stays = !is_same(dst_of(p, part->step), last);
        part->left_stays = left && left->dst_stays;
        part->right_stays = right && right->dst_stays;
        p->steps[part->step].fused = (uint32_t)(first - p->parts) + 1;
    }
}

static void store_parts(struct pass *p)
{
    for (uint32_t i = 0; i < p->step_count; i++)
        if (is_reduction(&p->steps[i]) &&
            p->nodes[p->nodes[i].root - 1].size > 1)
            add_part(p, i);
    for (uint32_t i = 0, n; i < p->part_count; i += n) {
        for (n = 1; !p->parts[i + n - 1].is_last;)
            n++;
        if (is_closed(p, &p->parts[i], n) &&
            can_work_in_blocks(p, &p->parts[i], n))
            set_places(p, &p->parts[i], n);
    }
}

/* ---- Receives ------------------------------------------------------------ */

static struct rcx_fused_part *part_of(const struct pass *p, uint32_t step)
{
    struct rcx_fused_part *part = &p->parts[p->steps[step].fused - 1];

    while (part->step != step)
        part++;
    return part;
}

/* If only a part of a fused reduction reads the data of receive i, the data
 * may stay where it has arrived. */
static void find_receiver(struct pass *p, uint32_t i)
{
    const uint32_t reader = rcx_step_reader(p->steps, i, p->successors);
    const struct rcx_span data = dst_of(p, i);
    struct rcx_fused_part *part;
    bool is_left, is_right;

    if (reader == 0 || p->steps[reader - 1].fused == 0 ||
        data.buffer != RCX_BUFFER_TMP)
        return;
    part = part_of(p, reader - 1);
    is_left = is_same(data, left_of(p, reader - 1));
    is_right = is_same(data, right_of(p, reader - 1));
    if (is_left == is_right)
        return;
    *(is_left ? &part->left_from : &part->right_from) = i + 1;
    p->steps[i].fused = p->steps[reader - 1].fused;
}

bool rcx_reductions_fuse(struct rcx_builder *b, struct rcx_step *steps,
                         const uint32_t *successors,
                         struct rcx_fused_part *parts, uint32_t *part_count_p)
{
    const uint32_t n = b->step_count;
    struct pass p = {.shape = b->shape,
                     .steps = steps,
                     .successors = successors,
                     .parts = parts,
                     .step_count = n,
                     .most = b->shape->at_once ? RCX_AT_ONCE_OPERANDS
                                               : RCX_FUSED_OPERANDS};

    *part_count_p = 0;
    if (rcx_reductions_count(b) < 2)
        return true;
    p.nodes = rcx_builder_work(b, n * sizeof *p.nodes);
    if (!p.nodes)
        return false;
    for (uint32_t i = 0; i < n; i++)
        p.nodes[i] = (struct node){.parent = 0};
    find_trees(&p);
    store_parts(&p);
    for (uint32_t i = 0; i < n; i++)
        if (steps[i].kind == RCX_STEP_RECV && steps[i].count > 0)
            find_receiver(&p, i);
    *part_count_p = p.part_count;
    return true;
}

bool rcx_plan_combines_at_once(const struct rcx_plan *plan, int operands)
{
    int parts = 0;

    for (uint32_t i = 0; i < plan->step_count; i++)
        if (is_reduction(&plan->steps[i]) && plan->steps[i].fused == 0)
            return false;
    for (uint32_t i = 0; i < plan->part_count; i++) {
        parts++;
        if (!plan->parts[i].is_last)
            continue;
        if (parts != operands - 1)
            return false;
        parts = 0;
    }
    return true;
}
