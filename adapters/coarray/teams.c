/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams, which are RCX communicators: form, change, end and sync team. A team
 * is freed at the end of the program only, as gfortran does not tell when its
 * variable goes out of scope. */
#include "caf.h"

#include <stdlib.h>

/* Gather the ranks of the members in the initial team. */
static rcx_status_t find_members(struct caf_team *team)
{
    const int me = caf_me();

    team->ranks =
        calloc((size_t)rcx_comm_size(team->comm), sizeof *team->ranks);
    return team->ranks ? rcx_allgather(&me, team->ranks, 1, RCX_INT, team->comm)
                       : RCX_ERR_NOMEM;
}

static rcx_status_t form(int number, struct caf_team *team)
{
    struct caf_team *parent = caf_team();
    /* afterwards no image of the team sends requests, so the calls that
     * follow may block */
    rcx_status_t status = caf_sync();

    team->number = number;
    team->parent = parent;
    if (status == RCX_OK)
        status = rcx_comm_split(parent->comm, number,
                                rcx_comm_rank(parent->comm), &team->comm);
    return status == RCX_OK ? find_members(team) : status;
}

void _gfortran_caf_form_team(int number, void **team_p, int new_index)
{
    const struct caf_outcome outcome = {"form team", NULL, NULL, 0, false};
    struct caf_team *team = caf_new_team();

    (void)new_index;
    caf_end(&outcome, team ? form(number, team) : RCX_ERR_NOMEM);
    *team_p = team;
}

static rcx_status_t sync_team(struct caf_team *team)
{
    struct caf_team *current = caf_team();
    rcx_status_t status;

    caf_enter_team(team);
    status = caf_sync();
    caf_enter_team(current);
    return status;
}

void _gfortran_caf_change_team(void **team_p, int unused)
{
    const struct caf_outcome outcome = {"change team", NULL, NULL, 0, false};

    (void)unused;
    caf_enter_team(*team_p);
    caf_end(&outcome, caf_sync());
}

void _gfortran_caf_end_team(void *unused)
{
    const struct caf_outcome outcome = {"end team", NULL, NULL, 0, false};
    struct caf_team *parent = caf_team()->parent;

    (void)unused;
    if (!parent) {
        caf_refuse(&outcome, "this is the initial team");
        return;
    }
    caf_end(&outcome, caf_sync());
    caf_enter_team(parent);
}

void _gfortran_caf_sync_team(void **team_p, int unused)
{
    const struct caf_outcome outcome = {"sync team", NULL, NULL, 0, false};

    (void)unused;
    caf_end(&outcome, sync_team(*team_p));
}

/* level: of ISO_FORTRAN_ENV; 0: current, 1: parent, 2: initial team. */
void *_gfortran_caf_get_team(int level)
{
    struct caf_team *team = caf_team();

    if (level == 1 && team->parent)
        return team->parent;
    return level == 2 ? caf_initial() : team;
}

int _gfortran_caf_team_number(struct caf_team *team)
{
    return (team ? team : caf_team())->number;
}
