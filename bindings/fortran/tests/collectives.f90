! SPDX-License-Identifier: BSD-3-Clause
! Each collective in its forms, with counts of both kinds, on real numbers. What is expected is
! computed here.
program collectives
  use check
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: n = 5
  integer(int64), parameter :: ln = n
  integer :: root, form

  call open_job()
  do root = 0, ranks - 1, max(1, ranks - 1)
    do form = 1, FORMS
      call test_bcast()
      call test_reduce()
      call test_gather()
      call test_scatter()
      call test_gatherv()
      call test_scatterv()
    end do
  end do
  do form = 1, FORMS
    call test_allreduce()
    call test_allreduce_many()
    call test_reduce_scatter()
    call test_reduce_scatter_block()
    call test_barrier()
    call test_allgather()
    call test_allgatherv()
    call test_alltoall()
    call test_alltoallv()
    call test_neighbors()
    call test_scan()
    call test_exscan()
    call test_in_place()
  end do
  call close_job()
contains
  ! Element i of the operand of a rank; in alltoall, of its block for another rank.
  elemental function operand(r, i) result(x)
    integer, intent(in) :: r, i
    real(real64) :: x

    x = 100 * r + i
  end function

  ! Elements 1 to m of the operand of rank r.
  function operands(r, m) result(x)
    integer, intent(in) :: r, m
    real(real64) :: x(m)
    integer :: i

    x = operand(r, [(i, i = 1, m)])
  end function

  ! The sum of operands of ranks 0 to last.
  function sum_to(last, m) result(x)
    integer, intent(in) :: last, m
    real(real64) :: x(m)
    integer :: r

    x = 0
    do r = 0, last
      x = x + operands(r, m)
    end do
  end function

  subroutine test_bcast()
    real(real64), asynchronous :: x(n)
    type(rcx_request) :: request

    x = merge(operands(root, n), -1d0, rank == root)
    select case (form)
    case (BLOCKING); call rcx_bcast(x, n, RCX_FLOAT64, root, world)
    case (BLOCKING_LONG); call rcx_bcast(x, ln, RCX_FLOAT64, root, world)
    case (NONBLOCKING); call rcx_ibcast(x, n, RCX_FLOAT64, root, world, request)
    case (NONBLOCKING_LONG); call rcx_ibcast(x, ln, RCX_FLOAT64, root, world, request)
    case (PERSISTENT); call rcx_bcast_init(x, n, RCX_FLOAT64, root, world, request)
    case (PERSISTENT_LONG); call rcx_bcast_init(x, ln, RCX_FLOAT64, root, world, request)
    end select
    call complete(request, form)
    call expect(all(x == operands(root, n)), 'bcast', form)
  end subroutine

  subroutine test_reduce()
    real(real64), asynchronous :: x(n), y(n)
    type(rcx_request) :: r

    x = operands(rank, n)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_reduce(x, y, n, RCX_FLOAT64, RCX_SUM, root, world)
    case (BLOCKING_LONG); call rcx_reduce(x, y, ln, RCX_FLOAT64, RCX_SUM, root, world)
    case (NONBLOCKING); call rcx_ireduce(x, y, n, RCX_FLOAT64, RCX_SUM, root, world, r)
    case (NONBLOCKING_LONG); call rcx_ireduce(x, y, ln, RCX_FLOAT64, RCX_SUM, root, world, r)
    case (PERSISTENT); call rcx_reduce_init(x, y, n, RCX_FLOAT64, RCX_SUM, root, world, r)
    case (PERSISTENT_LONG); call rcx_reduce_init(x, y, ln, RCX_FLOAT64, RCX_SUM, root, world, r)
    end select
    call complete(r, form)
    call expect(all(y == merge(sum_to(ranks - 1, n), -1d0, rank == root)), 'reduce', form)
  end subroutine

  subroutine test_gather()
    real(real64), asynchronous :: x(n), y(n, 0:ranks - 1), nothing(0)
    type(rcx_request) :: request
    integer :: r

    x = operands(rank, n)
    y = -1
    if (rank /= root .and. form == BLOCKING) then
      ! recvbuf is ignored
      call rcx_gather(x, nothing, n, RCX_FLOAT64, root, world)
      return
    end if
    select case (form)
    case (BLOCKING); call rcx_gather(x, y, n, RCX_FLOAT64, root, world)
    case (BLOCKING_LONG); call rcx_gather(x, y, ln, RCX_FLOAT64, root, world)
    case (NONBLOCKING); call rcx_igather(x, y, n, RCX_FLOAT64, root, world, request)
    case (NONBLOCKING_LONG); call rcx_igather(x, y, ln, RCX_FLOAT64, root, world, request)
    case (PERSISTENT); call rcx_gather_init(x, y, n, RCX_FLOAT64, root, world, request)
    case (PERSISTENT_LONG); call rcx_gather_init(x, y, ln, RCX_FLOAT64, root, world, request)
    end select
    call complete(request, form)
    do r = 0, ranks - 1
      call expect(all(y(:, r) == merge(operands(r, n), -1d0, rank == root)), 'gather', form)
    end do
  end subroutine

  subroutine test_scatter()
    real(real64), asynchronous :: x(n, 0:ranks - 1), y(n)
    type(rcx_request) :: request
    integer :: r

    do r = 0, ranks - 1
      x(:, r) = operands(r, n) + root
    end do
    y = -1
    select case (form)
    case (BLOCKING); call rcx_scatter(x, y, n, RCX_FLOAT64, root, world)
    case (BLOCKING_LONG); call rcx_scatter(x, y, ln, RCX_FLOAT64, root, world)
    case (NONBLOCKING); call rcx_iscatter(x, y, n, RCX_FLOAT64, root, world, request)
    case (NONBLOCKING_LONG); call rcx_iscatter(x, y, ln, RCX_FLOAT64, root, world, request)
    case (PERSISTENT); call rcx_scatter_init(x, y, n, RCX_FLOAT64, root, world, request)
    case (PERSISTENT_LONG); call rcx_scatter_init(x, y, ln, RCX_FLOAT64, root, world, request)
    end select
    call complete(request, form)
    call expect(all(y == operands(rank, n) + root), 'scatter', form)
  end subroutine

  ! Blocks of r + 1 elements, in descending order of ranks, with a gap of one between them.
  subroutine layout(counts, displs, elements)
    integer, intent(out) :: counts(0:), displs(0:), elements
    integer :: r

    elements = 0
    do r = ranks - 1, 0, -1
      counts(r) = r + 1
      displs(r) = elements
      elements = elements + counts(r) + 1
    end do
  end subroutine

  ! Whether y has the blocks of all ranks as layout() has them, or without gaps in ascending order,
  ! and -1 elsewhere.
  function has_blocks(y, counts, displs) result(answer)
    real(real64), intent(in) :: y(:)
    integer, intent(in) :: counts(0:), displs(0:)
    logical :: answer
    real(real64) :: wanted(size(y))
    integer :: r

    wanted = -1
    do r = 0, ranks - 1
      wanted(displs(r) + 1:displs(r) + counts(r)) = operands(r, counts(r))
    end do
    answer = all(y == wanted)
  end function

  subroutine test_gatherv()
    integer :: c(0:ranks - 1), d(0:ranks - 1), elements
    integer(int64) :: lc(0:ranks - 1), ld(0:ranks - 1)
    real(real64), asynchronous :: x(rank + 1), y(ranks * (ranks + 3) / 2)
    type(rcx_request) :: r

    call layout(c, d, elements)
    lc = c
    ld = d
    x = operands(rank, rank + 1)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_gatherv(x, y, c, d, RCX_FLOAT64, root, world)
    case (BLOCKING_LONG); call rcx_gatherv(x, y, lc, ld, RCX_FLOAT64, root, world)
    case (NONBLOCKING); call rcx_igatherv(x, y, c, d, RCX_FLOAT64, root, world, r)
    case (NONBLOCKING_LONG); call rcx_igatherv(x, y, lc, ld, RCX_FLOAT64, root, world, r)
    case (PERSISTENT); call rcx_gatherv_init(x, y, c, d, RCX_FLOAT64, root, world, r)
    case (PERSISTENT_LONG); call rcx_gatherv_init(x, y, lc, ld, RCX_FLOAT64, root, world, r)
    end select
    call complete(r, form)
    call expect(merge(has_blocks(y, c, d), all(y == -1), rank == root), 'gatherv', form)
  end subroutine

  subroutine test_scatterv()
    integer :: c(0:ranks - 1), d(0:ranks - 1), elements, r
    integer(int64) :: lc(0:ranks - 1), ld(0:ranks - 1)
    real(real64), asynchronous :: x(ranks * (ranks + 3) / 2), y(rank + 1)
    type(rcx_request) :: request

    call layout(c, d, elements)
    lc = c
    ld = d
    x = -1
    do r = 0, ranks - 1
      x(d(r) + 1:d(r) + c(r)) = operands(r, c(r))
    end do
    y = -1
    select case (form)
    case (BLOCKING); call rcx_scatterv(x, y, c, d, RCX_FLOAT64, root, world)
    case (BLOCKING_LONG); call rcx_scatterv(x, y, lc, ld, RCX_FLOAT64, root, world)
    case (NONBLOCKING); call rcx_iscatterv(x, y, c, d, RCX_FLOAT64, root, world, request)
    case (NONBLOCKING_LONG); call rcx_iscatterv(x, y, lc, ld, RCX_FLOAT64, root, world, request)
    case (PERSISTENT); call rcx_scatterv_init(x, y, c, d, RCX_FLOAT64, root, world, request)
    case (PERSISTENT_LONG); call rcx_scatterv_init(x, y, lc, ld, RCX_FLOAT64, root, world, request)
    end select
    call complete(request, form)
    call expect(all(y == operands(rank, rank + 1)), 'scatterv', form)
  end subroutine

  subroutine test_allreduce()
    real(real64), asynchronous :: x(n), y(n)
    type(rcx_request) :: request

    x = operands(rank, n)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_allreduce(x, y, n, RCX_FLOAT64, RCX_SUM, world)
    case (BLOCKING_LONG); call rcx_allreduce(x, y, ln, RCX_FLOAT64, RCX_SUM, world)
    case (NONBLOCKING); call rcx_iallreduce(x, y, n, RCX_FLOAT64, RCX_SUM, world, request)
    case (NONBLOCKING_LONG); call rcx_iallreduce(x, y, ln, RCX_FLOAT64, RCX_SUM, world, request)
    case (PERSISTENT); call rcx_allreduce_init(x, y, n, RCX_FLOAT64, RCX_SUM, world, request)
    case (PERSISTENT_LONG); call rcx_allreduce_init(x, y, ln, RCX_FLOAT64, RCX_SUM, world, request)
    end select
    call complete(request, form)
    call expect(all(y == sum_to(ranks - 1, n)), 'allreduce', form)
  end subroutine

  subroutine test_allreduce_many()
    use, intrinsic :: iso_c_binding, only: c_loc, c_ptr
    real(real64), asynchronous, target :: x(n), y(n), last, last_sum
    type(c_ptr) :: from(2), to(2)
    type(rcx_request) :: r
    integer :: c(2)
    integer(int64) :: lc(2)

    x = operands(rank, n)
    last = rank
    y = -1
    from = [c_loc(x), c_loc(last)]
    to = [c_loc(y), c_loc(last_sum)]
    c = [n, 1]
    lc = c
    select case (form)
    case (BLOCKING); call rcx_allreduce_many(from, to, c, RCX_FLOAT64, RCX_SUM, world)
    case (BLOCKING_LONG); call rcx_allreduce_many(from, to, lc, RCX_FLOAT64, RCX_SUM, world)
    case (NONBLOCKING); call rcx_iallreduce_many(from, to, c, RCX_FLOAT64, RCX_SUM, world, r)
    case (NONBLOCKING_LONG); call rcx_iallreduce_many(from, to, lc, RCX_FLOAT64, RCX_SUM, world, r)
    case (PERSISTENT); call rcx_allreduce_many_init(from, to, c, RCX_FLOAT64, RCX_SUM, world, r)
    case (PERSISTENT_LONG)
      call rcx_allreduce_many_init(from, to, lc, RCX_FLOAT64, RCX_SUM, world, r)
    end select
    call complete(r, form)
    call expect(all(y == sum_to(ranks - 1, n)) .and. last_sum == ranks * (ranks - 1) / 2, &
        'allreduce_many', form)
    y = x
    last_sum = last
    call rcx_allreduce_many(RCX_IN_PLACE, to, c, RCX_FLOAT64, RCX_SUM, world)
    call expect(all(y == sum_to(ranks - 1, n)) .and. last_sum == ranks * (ranks - 1) / 2, &
        'allreduce_many in place', form)
  end subroutine

  subroutine test_reduce_scatter()
    integer :: c(0:ranks - 1), first, r
    integer(int64) :: lc(0:ranks - 1)
    real(real64), asynchronous :: x(ranks * (ranks + 1) / 2), y(rank + 1)
    real(real64) :: total(size(x))
    type(rcx_request) :: request

    c = [(r + 1, r = 0, ranks - 1)]
    lc = c
    first = sum(c(:rank - 1)) + 1
    x = operands(rank, size(x))
    y = -1
    select case (form)
    case (BLOCKING); call rcx_reduce_scatter(x, y, c, RCX_FLOAT64, RCX_SUM, world)
    case (BLOCKING_LONG); call rcx_reduce_scatter(x, y, lc, RCX_FLOAT64, RCX_SUM, world)
    case (NONBLOCKING); call rcx_ireduce_scatter(x, y, c, RCX_FLOAT64, RCX_SUM, world, request)
    case (NONBLOCKING_LONG)
      call rcx_ireduce_scatter(x, y, lc, RCX_FLOAT64, RCX_SUM, world, request)
    case (PERSISTENT); call rcx_reduce_scatter_init(x, y, c, RCX_FLOAT64, RCX_SUM, world, request)
    case (PERSISTENT_LONG)
      call rcx_reduce_scatter_init(x, y, lc, RCX_FLOAT64, RCX_SUM, world, request)
    end select
    call complete(request, form)
    total = sum_to(ranks - 1, size(x))
    call expect(all(y == total(first:first + rank)), 'reduce_scatter', form)
  end subroutine

  subroutine test_reduce_scatter_block()
    real(real64), asynchronous :: x(n * ranks), y(n)
    real(real64) :: total(n * ranks)
    type(rcx_request) :: r

    x = operands(rank, n * ranks)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_reduce_scatter_block(x, y, n, RCX_FLOAT64, RCX_SUM, world)
    case (BLOCKING_LONG); call rcx_reduce_scatter_block(x, y, ln, RCX_FLOAT64, RCX_SUM, world)
    case (NONBLOCKING); call rcx_ireduce_scatter_block(x, y, n, RCX_FLOAT64, RCX_SUM, world, r)
    case (NONBLOCKING_LONG)
      call rcx_ireduce_scatter_block(x, y, ln, RCX_FLOAT64, RCX_SUM, world, r)
    case (PERSISTENT); call rcx_reduce_scatter_block_init(x, y, n, RCX_FLOAT64, RCX_SUM, world, r)
    case (PERSISTENT_LONG)
      call rcx_reduce_scatter_block_init(x, y, ln, RCX_FLOAT64, RCX_SUM, world, r)
    end select
    call complete(r, form)
    total = sum_to(ranks - 1, n * ranks)
    call expect(all(y == total(n * rank + 1:n * (rank + 1))), 'reduce_scatter_block', form)
  end subroutine

  subroutine test_barrier()
    type(rcx_request) :: request

    select case (form)
    case (BLOCKING, BLOCKING_LONG); call rcx_barrier(world)
    case (NONBLOCKING, NONBLOCKING_LONG); call rcx_ibarrier(world, request)
    case (PERSISTENT, PERSISTENT_LONG); call rcx_barrier_init(world, request)
    end select
    call complete(request, form)
  end subroutine

  subroutine test_allgather()
    real(real64), asynchronous :: x(n), y(n, 0:ranks - 1)
    type(rcx_request) :: request
    integer :: r

    x = operands(rank, n)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_allgather(x, y, n, RCX_FLOAT64, world)
    case (BLOCKING_LONG); call rcx_allgather(x, y, ln, RCX_FLOAT64, world)
    case (NONBLOCKING); call rcx_iallgather(x, y, n, RCX_FLOAT64, world, request)
    case (NONBLOCKING_LONG); call rcx_iallgather(x, y, ln, RCX_FLOAT64, world, request)
    case (PERSISTENT); call rcx_allgather_init(x, y, n, RCX_FLOAT64, world, request)
    case (PERSISTENT_LONG); call rcx_allgather_init(x, y, ln, RCX_FLOAT64, world, request)
    end select
    call complete(request, form)
    do r = 0, ranks - 1
      call expect(all(y(:, r) == operands(r, n)), 'allgather', form)
    end do
  end subroutine

  ! With displacements, and without.
  subroutine test_allgatherv()
    integer :: c(0:ranks - 1), d(0:ranks - 1), elements, r
    integer(int64) :: lc(0:ranks - 1), ld(0:ranks - 1)
    real(real64), asynchronous :: x(rank + 1), y(ranks * (ranks + 3) / 2)
    type(rcx_request) :: request

    call layout(c, d, elements)
    lc = c
    ld = d
    x = operands(rank, rank + 1)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_allgatherv(x, y, c, d, RCX_FLOAT64, world)
    case (BLOCKING_LONG); call rcx_allgatherv(x, y, lc, ld, RCX_FLOAT64, world)
    case (NONBLOCKING); call rcx_iallgatherv(x, y, c, d, RCX_FLOAT64, world, request)
    case (NONBLOCKING_LONG); call rcx_iallgatherv(x, y, lc, ld, RCX_FLOAT64, world, request)
    case (PERSISTENT); call rcx_allgatherv_init(x, y, c, d, RCX_FLOAT64, world, request)
    case (PERSISTENT_LONG); call rcx_allgatherv_init(x, y, lc, ld, RCX_FLOAT64, world, request)
    end select
    call complete(request, form)
    call expect(has_blocks(y, c, d), 'allgatherv', form)

    d = [(sum(c(:r - 1)), r = 0, ranks - 1)]
    y = -1
    call rcx_allgatherv(x, y, c, datatype=RCX_FLOAT64, comm=world)
    call expect(has_blocks(y, c, d), 'allgatherv without displacements', form)
  end subroutine

  subroutine test_alltoall()
    real(real64), asynchronous :: x(n, 0:ranks - 1), y(n, 0:ranks - 1)
    type(rcx_request) :: request
    integer :: r

    do r = 0, ranks - 1
      x(:, r) = operands(rank, n) + 1000 * r
    end do
    y = -1
    select case (form)
    case (BLOCKING); call rcx_alltoall(x, y, n, RCX_FLOAT64, world)
    case (BLOCKING_LONG); call rcx_alltoall(x, y, ln, RCX_FLOAT64, world)
    case (NONBLOCKING); call rcx_ialltoall(x, y, n, RCX_FLOAT64, world, request)
    case (NONBLOCKING_LONG); call rcx_ialltoall(x, y, ln, RCX_FLOAT64, world, request)
    case (PERSISTENT); call rcx_alltoall_init(x, y, n, RCX_FLOAT64, world, request)
    case (PERSISTENT_LONG); call rcx_alltoall_init(x, y, ln, RCX_FLOAT64, world, request)
    end select
    call complete(request, form)
    do r = 0, ranks - 1
      call expect(all(y(:, r) == operands(r, n) + 1000 * rank), 'alltoall', form)
    end do
  end subroutine

  ! Rank s sends s + r + 1 elements to rank r.
  subroutine test_alltoallv()
    integer :: c(0:ranks - 1), d(0:ranks - 1), r
    integer(int64) :: lc(0:ranks - 1), ld(0:ranks - 1)
    real(real64), asynchronous :: x(ranks * (2 * ranks)), y(ranks * (2 * ranks))
    type(rcx_request) :: q

    c = [(rank + r + 1, r = 0, ranks - 1)]
    d = [(sum(c(:r - 1)), r = 0, ranks - 1)]
    lc = c
    ld = d
    do r = 0, ranks - 1
      x(d(r) + 1:d(r) + c(r)) = operands(rank, c(r)) + 1000 * r
    end do
    y = -1
    select case (form)
    case (BLOCKING); call rcx_alltoallv(x, c, d, y, c, d, RCX_FLOAT64, world)
    case (BLOCKING_LONG); call rcx_alltoallv(x, lc, ld, y, lc, ld, RCX_FLOAT64, world)
    case (NONBLOCKING); call rcx_ialltoallv(x, c, d, y, c, d, RCX_FLOAT64, world, q)
    case (NONBLOCKING_LONG); call rcx_ialltoallv(x, lc, ld, y, lc, ld, RCX_FLOAT64, world, q)
    case (PERSISTENT); call rcx_alltoallv_init(x, c, d, y, c, d, RCX_FLOAT64, world, q)
    case (PERSISTENT_LONG); call rcx_alltoallv_init(x, lc, ld, y, lc, ld, RCX_FLOAT64, world, q)
    end select
    call complete(q, form)
    do r = 0, ranks - 1
      call expect(all(y(d(r) + 1:d(r) + c(r)) == operands(r, c(r)) + 1000 * rank), 'alltoallv', form)
    end do
    ! in place sendcounts are not read
    y(:size(x)) = x
    call rcx_alltoallv(RCX_IN_PLACE, [integer ::], recvbuf=y, recvcounts=c, datatype=RCX_FLOAT64, &
        comm=world)
    do r = 0, ranks - 1
      call expect(all(y(d(r) + 1:d(r) + c(r)) == operands(r, c(r)) + 1000 * rank), &
          'alltoallv in place', form)
    end do
  end subroutine

  ! A ring: three elements to the right, one to the left.
  subroutine test_neighbors()
    integer :: to(2), from(2), c(2), d(2)
    integer(int64) :: lc(2), ld(2)
    real(real64), asynchronous :: x(4), y(4)
    type(rcx_request) :: q

    to = [modulo(rank + 1, ranks), modulo(rank - 1, ranks)]
    from = [to(2), to(1)]
    c = [3, 1]
    d = [0, 3]
    lc = c
    ld = d
    x = operands(rank, 4)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_neighbor_alltoallv(x, 2, to, c, d, y, 2, from, c, d, RCX_FLOAT64, world)
    case (BLOCKING_LONG)
      call rcx_neighbor_alltoallv(x, 2_int64, to, lc, ld, y, 2_int64, from, lc, ld, RCX_FLOAT64, world)
    case (NONBLOCKING)
      call rcx_ineighbor_alltoallv(x, 2, to, c, d, y, 2, from, c, d, RCX_FLOAT64, world, q)
    case (NONBLOCKING_LONG)
      call rcx_ineighbor_alltoallv(x, 2_int64, to, lc, ld, y, 2_int64, from, lc, ld, RCX_FLOAT64, &
          world, q)
    case (PERSISTENT)
      call rcx_neighbor_alltoallv_init(x, 2, to, c, d, y, 2, from, c, d, RCX_FLOAT64, world, q)
    case (PERSISTENT_LONG)
      call rcx_neighbor_alltoallv_init(x, 2_int64, to, lc, ld, y, 2_int64, from, lc, ld, &
          RCX_FLOAT64, world, q)
    end select
    call complete(q, form)
    associate (left => operands(from(1), 4), right => operands(from(2), 4))
      call expect(all(y == [left(:3), right(4)]), 'neighbor_alltoallv', form)
    end associate
  end subroutine

  subroutine test_scan()
    real(real64), asynchronous :: x(n), y(n)
    type(rcx_request) :: request

    x = operands(rank, n)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_scan(x, y, n, RCX_FLOAT64, RCX_SUM, world)
    case (BLOCKING_LONG); call rcx_scan(x, y, ln, RCX_FLOAT64, RCX_SUM, world)
    case (NONBLOCKING); call rcx_iscan(x, y, n, RCX_FLOAT64, RCX_SUM, world, request)
    case (NONBLOCKING_LONG); call rcx_iscan(x, y, ln, RCX_FLOAT64, RCX_SUM, world, request)
    case (PERSISTENT); call rcx_scan_init(x, y, n, RCX_FLOAT64, RCX_SUM, world, request)
    case (PERSISTENT_LONG); call rcx_scan_init(x, y, ln, RCX_FLOAT64, RCX_SUM, world, request)
    end select
    call complete(request, form)
    call expect(all(y == sum_to(rank, n)), 'scan', form)
  end subroutine

  subroutine test_exscan()
    real(real64), asynchronous :: x(n), y(n)
    type(rcx_request) :: request

    x = operands(rank, n)
    y = -1
    select case (form)
    case (BLOCKING); call rcx_exscan(x, y, n, RCX_FLOAT64, RCX_SUM, world)
    case (BLOCKING_LONG); call rcx_exscan(x, y, ln, RCX_FLOAT64, RCX_SUM, world)
    case (NONBLOCKING); call rcx_iexscan(x, y, n, RCX_FLOAT64, RCX_SUM, world, request)
    case (NONBLOCKING_LONG); call rcx_iexscan(x, y, ln, RCX_FLOAT64, RCX_SUM, world, request)
    case (PERSISTENT); call rcx_exscan_init(x, y, n, RCX_FLOAT64, RCX_SUM, world, request)
    case (PERSISTENT_LONG); call rcx_exscan_init(x, y, ln, RCX_FLOAT64, RCX_SUM, world, request)
    end select
    call complete(request, form)
    call expect(all(y == merge(sum_to(rank - 1, n), -1d0, rank > 0)), 'exscan', form)
  end subroutine

  ! RCX_IN_PLACE as either buffer.
  subroutine test_in_place()
    real(real64), asynchronous :: x(n), blocks(n, 0:ranks - 1)
    real(real64) :: total(n * ranks)
    type(rcx_request) :: request
    integer :: r

    x = operands(rank, n)
    call rcx_iallreduce(RCX_IN_PLACE, x, n, RCX_FLOAT64, RCX_SUM, world, request)
    call rcx_wait(request)
    call rcx_request_free(request)
    call expect(all(x == sum_to(ranks - 1, n)), 'allreduce in place')

    blocks = reshape(operands(rank, n * ranks), shape(blocks))
    call rcx_reduce_scatter_block(RCX_IN_PLACE, blocks, n, RCX_FLOAT64, RCX_SUM, world)
    total = sum_to(ranks - 1, n * ranks)
    call expect(all(blocks(:, 0) == total(n * rank + 1:n * (rank + 1))), 'reduce_scatter_block in place')

    blocks(:, rank) = operands(rank, n)
    call rcx_allgather(RCX_IN_PLACE, blocks, n, RCX_FLOAT64, world)
    do r = 0, ranks - 1
      call expect(all(blocks(:, r) == operands(r, n)), 'allgather in place')
      blocks(:, r) = operands(r, n) + 7
    end do
    if (rank == 0) then
      call rcx_scatter(blocks, RCX_IN_PLACE, n, RCX_FLOAT64, 0, world)
    else
      call rcx_scatter(blocks, x, n, RCX_FLOAT64, 0, world)
      call expect(all(x == operands(rank, n) + 7), 'scatter in place')
    end if
  end subroutine
end program
