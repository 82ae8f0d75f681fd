/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delay_link PID NAME MICROSECONDS
 *
 * A link between two network namespaces that delays each frame: eth0 in its
 * own, NAME in the one of process PID. For kernels without netem. Prints a line
 * when both devices exist, and runs until it is killed. Frames keep their
 * order. One that finds QUEUE frames before it is lost, as on a real link.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* FRAME: the longest frame with its header; the kernel hands over segments of
 * 64 KB as one. */
enum { QUEUE = 512, FRAME = 68 * 1024 };

struct frame {
    int64_t due; /* nanoseconds */
    size_t bytes;
    char data[FRAME];
};

/* Frames in one direction. */
struct queue {
    int from, to;
    unsigned head, count;
    struct frame *frames;
};

static void fail(const char *what)
{
    fprintf(stderr, "delay_link: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Let the device state the rate that a veth does: UCX chooses by it. */
static void state_rate(struct ifreq *request)
{
    struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    request->ifr_data = (void *)&settings;
    if (fd < 0 || ioctl(fd, SIOCETHTOOL, request) != 0)
        fail("ETHTOOL_GSET");
    settings.cmd = ETHTOOL_SSET;
    ethtool_cmd_speed_set(&settings, SPEED_10000);
    if (ioctl(fd, SIOCETHTOOL, request) != 0)
        fail("ETHTOOL_SSET");
    close(fd);
}

static int open_device(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        fail("/dev/net/tun");
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &request) != 0 ||
        ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0)
        fail(name);
    state_rate(&request);
    return fd;
}

static void enter_namespace(const char *pid)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        fail(path);
    close(fd);
}

/* Take all frames that have come. */
static void take(struct queue *q, int64_t delay)
{
    static char lost[FRAME];

    for (;;) {
        struct frame *f = &q->frames[(q->head + q->count) % QUEUE];
        const bool is_full = q->count == QUEUE;
        const ssize_t bytes = read(q->from, is_full ? lost : f->data, FRAME);

        if (bytes <= 0)
            return;
        if (is_full)
            continue;
        f->bytes = (size_t)bytes;
        f->due = now() + delay;
        q->count++;
    }
}

/* Pass frames on that are due. Return when the next one is. */
static int64_t pass(struct queue *q)
{
    while (q->count > 0) {
        const struct frame *f = &q->frames[q->head];

        if (f->due > now())
            return f->due;
        if (write(q->to, f->data, f->bytes) < 0 && errno == EAGAIN)
            return f->due;
        q->head = (q->head + 1) % QUEUE;
        q->count--;
    }
    return INT64_MAX;
}

static void wait_for(const struct queue queues[2], int64_t due)
{
    struct pollfd fds[2] = {{.fd = queues[0].from, .events = POLLIN},
                            {.fd = queues[1].from, .events = POLLIN}};
    int64_t left = due == INT64_MAX ? INT64_C(1000000000) : due - now();

    left = left > 0 ? left : 0;
    ppoll(fds, 2,
          &(struct timespec){.tv_sec = left / 1000000000,
                             .tv_nsec = left % 1000000000},
          NULL);
}

int main(int argc, char **argv)
{
    struct queue queues[2] = {{0}};
    int64_t delay;

    if (argc != 4) {
        fprintf(stderr, "usage: delay_link PID NAME MICROSECONDS\n");
        return 2;
    }
    delay = atoll(argv[3]) * 1000;
    queues[0].from = queues[1].to = open_device("eth0");
    enter_namespace(argv[1]);
    queues[1].from = queues[0].to = open_device(argv[2]);
    for (int i = 0; i < 2; i++) {
        queues[i].frames = calloc(QUEUE, sizeof *queues[i].frames);
        if (!queues[i].frames)
            fail("frames");
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
    puts("up");
    fflush(stdout);
    for (;;) {
        int64_t due = INT64_MAX;

        for (int i = 0; i < 2; i++) {
            int64_t next;

            take(&queues[i], delay);
            next = pass(&queues[i]);
            due = next < due ? next : due;
        }
        wait_for(queues, due);
    }
}
