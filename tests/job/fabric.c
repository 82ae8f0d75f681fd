/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: prints the job sizes that ucp_init() is passed, and simulates
 * networks that this machine does not have. FABRIC selects one:
 *
 *   closed  ucp_worker_create() fails unless RCX_UCX_TLS=tcp,self, as on
 *           networks that a process may not open
 *   rc      peer failures look as over InfiniBand's reliable connections. An
 *           endpoint without error handling aborts this process. Otherwise the
 *           first failed message ends with UCS_ERR_ENDPOINT_TIMEOUT, later ones
 *           with UCS_ERR_CANCELED
 *   blink   after the first FIRST_LOOKS, every second one-byte read of a peer's
 *           memory fails with ESRCH, as if the process were gone
 *   dies    the process whose id is in the file FABRIC_VICTIM is killed right
 *           before a peer's memory is mapped
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static int is(const char *what)
{
    const char *fabric = getenv("FABRIC");

    return fabric && strcmp(fabric, what) == 0;
}

/* ---- Job sizes ----------------------------------------------------------- */

ucs_status_t ucp_init_version(unsigned major, unsigned minor,
                              const ucp_params_t *params,
                              const ucp_config_t *config,
                              ucp_context_h *context_p)
{
    if (params->field_mask & UCP_PARAM_FIELD_ESTIMATED_NUM_EPS && !is("rc"))
        printf("%zu endpoints\n", params->estimated_num_eps);
    if (params->field_mask & UCP_PARAM_FIELD_ESTIMATED_NUM_PPN && !is("rc"))
        printf("%zu on a node\n", params->estimated_num_ppn);
    fflush(stdout);
    return NEXT(ucp_init_version)(major, minor, params, config, context_p);
}

ucs_status_t ucp_worker_create(ucp_context_h context,
                               const ucp_worker_params_t *params,
                               ucp_worker_h *worker_p)
{
    const char *tls = getenv("RCX_UCX_TLS");

    if (is("closed") && (!tls || strcmp(tls, "tcp,self") != 0))
        return UCS_ERR_IO_ERROR;
    return NEXT(ucp_worker_create)(context, params, worker_p);
}

/* ---- Peers that fail ----------------------------------------------------- */

static void abort_process(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)arg, (void)endpoint;
    fprintf(stderr, "fabric: fatal: an endpoint without error handling: %s\n",
            ucs_status_string(status));
    abort();
}

static void report(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    const ucp_err_handler_t *theirs = arg;

    (void)status;
    theirs->cb(theirs->arg, endpoint, UCS_ERR_ENDPOINT_TIMEOUT);
}

ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params,
                           ucp_ep_h *endpoint_p)
{
    ucp_ep_params_t mine = *params;
    ucp_err_handler_t *theirs;

    if (!is("rc"))
        return NEXT(ucp_ep_create)(worker, params, endpoint_p);
    if (params->field_mask & UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE &&
        params->err_mode == UCP_ERR_HANDLING_MODE_PEER) {
        theirs = malloc(sizeof *theirs); /* never freed: needed until exit */
        *theirs = params->err_handler;
        mine.err_handler = (ucp_err_handler_t){.cb = report, .arg = theirs};
    } else {
        mine.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                           UCP_EP_PARAM_FIELD_ERR_HANDLER;
        mine.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        mine.err_handler = (ucp_err_handler_t){.cb = abort_process};
    }
    return NEXT(ucp_ep_create)(worker, &mine, endpoint_p);
}

struct send {
    ucp_send_nbx_callback_t cb;
    void *user_data;
};

static ucs_status_t status_of_failure(void)
{
    static _Thread_local int failures;

    return failures++ == 0 ? UCS_ERR_ENDPOINT_TIMEOUT : UCS_ERR_CANCELED;
}

static void send_done(void *request, ucs_status_t status, void *user_data)
{
    const struct send send = *(struct send *)user_data;

    free(user_data);
    send.cb(request, status == UCS_OK ? status : status_of_failure(),
            send.user_data);
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h endpoint, const void *buffer,
                                  size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t *param)
{
    ucp_request_param_t mine = *param;
    ucs_status_ptr_t result;
    struct send *send;

    if (!is("rc") || !(param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK))
        return NEXT(ucp_tag_send_nbx)(endpoint, buffer, count, tag, param);
    send = malloc(sizeof *send);
    *send = (struct send){param->cb.send, param->user_data};
    mine.cb.send = send_done;
    mine.user_data = send;
    result = NEXT(ucp_tag_send_nbx)(endpoint, buffer, count, tag, &mine);
    if (!UCS_PTR_IS_PTR(result))
        free(send);
    return UCS_PTR_IS_ERR(result) ? UCS_STATUS_PTR(status_of_failure())
                                  : result;
}

/* ---- Peers that seem to have exited -------------------------------------- */

enum { FIRST_LOOKS = 8 };

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long tos,
                         const struct iovec *from, unsigned long froms,
                         unsigned long flags)
{
    static _Thread_local int looks;

    if (is("blink") && pid != getpid() && to->iov_len == 1 &&
        ++looks > FIRST_LOOKS && looks % 2 == 0) {
        errno = ESRCH;
        return -1;
    }
    return NEXT(process_vm_readv)(pid, to, tos, from, froms, flags);
}

static void kill_victim(void)
{
    FILE *file = fopen(getenv("FABRIC_VICTIM"), "re");
    char path[64], state = 0;
    long pid = 0;

    if (!file || fscanf(file, "%ld", &pid) != 1 || pid <= 0)
        abort();
    fclose(file);
    kill((pid_t)pid, SIGKILL);
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    do { /* until the process is a zombie */
        file = fopen(path, "re");
        if (!file)
            return;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'Z';
        fclose(file);
    } while (state != 'Z');
}

ucs_status_t ucp_ep_rkey_unpack(ucp_ep_h endpoint, const void *key,
                                ucp_rkey_h *rkey_p)
{
    if (is("dies"))
        kill_victim();
    return NEXT(ucp_ep_rkey_unpack)(endpoint, key, rkey_p);
}
