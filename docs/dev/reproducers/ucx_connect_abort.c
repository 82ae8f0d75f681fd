/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX 1.13.1: a process that connects over rc to a peer that does not answer is
 * aborted after UCX_UD_TIMEOUT, although its endpoint handles errors:
 *
 *   ucp_request.c:684 Assertion `(req->send.wireup.type == ...EP_REMOVED) ||
 *   ...' failed: got REQ message
 *
 * Expected: the error handler is called, and the send ends with an error.
 *
 *   cc ucx_connect_abort.c -o ucx_connect_abort -lucp -lucs
 *   UCX_TLS=rc,ud,self UCX_UD_TIMEOUT=5s ./ucx_connect_abort
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

static void check(ucs_status_t status, const char *call)
{
    if (status == UCS_OK)
        return;
    printf("%s: %s\n", call, ucs_status_string(status));
    exit(2);
}

static ucp_worker_h open_worker(ucp_address_t **address_p, size_t *bytes_p)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features = UCP_FEATURE_TAG};
    const ucp_worker_params_t single = {0};
    ucp_context_h context;
    ucp_worker_h worker;

    check(ucp_init(&params, NULL, &context), "ucp_init");
    check(ucp_worker_create(context, &single, &worker), "ucp_worker_create");
    check(ucp_worker_get_address(worker, address_p, bytes_p), "address");
    return worker;
}

static void failed(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)arg, (void)endpoint;
    printf("the error handler: %s\n", ucs_status_string(status));
}

/* The peer never progresses its worker. */
static void be_silent(int to_parent)
{
    ucp_address_t *address;
    size_t bytes;

    open_worker(&address, &bytes);
    if (write(to_parent, &bytes, sizeof bytes) > 0 &&
        write(to_parent, address, bytes) > 0)
        raise(SIGSTOP);
    _exit(0);
}

int main(void)
{
    char remote[65536];
    size_t bytes, own;
    ucp_address_t *address;
    ucp_request_param_t none = {0};
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (ucp_address_t *)remote,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler.cb = failed};
    ucp_worker_h worker;
    ucp_ep_h endpoint;
    int ends[2];
    void *send;
    pid_t peer;

    if (pipe(ends) != 0 || (peer = fork()) < 0)
        return 2;
    if (peer == 0)
        be_silent(ends[1]);
    if (read(ends[0], &bytes, sizeof bytes) < 0 ||
        read(ends[0], remote, bytes) < 0)
        return 2;
    worker = open_worker(&address, &own);
    check(ucp_ep_create(worker, &params, &endpoint), "ucp_ep_create");
    send = ucp_tag_send_nbx(endpoint, &own, sizeof own, 1, &none);
    while (UCS_PTR_IS_PTR(send) &&
           ucp_request_check_status(send) == UCS_INPROGRESS)
        ucp_worker_progress(worker);
    printf("the send: %s\n",
           ucs_status_string(UCS_PTR_IS_PTR(send)
                                 ? ucp_request_check_status(send)
                                 : UCS_PTR_STATUS(send)));
    for (int i = 0; i < 1000; i++)
        ucp_worker_progress(worker);
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    return 0;
}
