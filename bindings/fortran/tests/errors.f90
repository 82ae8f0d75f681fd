! SPDX-License-Identifier: BSD-3-Clause
! Errors. Usage: errors MODE
!
!   arguments  wrong arguments are a status; arrays that are not contiguous
!   absent     an error without a status ends the program
!   failed     the same, of a communicator that has failed
!   abort      one rank ends the job
!   dead       rank 1 is killed: the others get a status, and go on without it
module errors_signals
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function c_raise(signal) bind(c, name="raise") result(answer)
      import
      integer(c_int), value :: signal
      integer(c_int) :: answer
    end function
  end interface
end module

program errors
  use check
  use errors_signals
  implicit none
  character(20) :: mode, why = 'the end'

  call get_command_argument(1, mode)
  call open_job()
  select case (mode)
  case ('arguments')
    call test_arguments()
    call test_lengths()
    call test_sections()
    call test_sections_in_flight()
  case ('absent')
    call rcx_bcast(rank, 1, RCX_INTEGER, -1, world)
    print *, 'rcx_bcast has returned'
  case ('failed')
    call rcx_comm_abort(world)
    call rcx_barrier(world)
    print *, 'rcx_barrier has returned'
  case ('abort')
    if (rank == ranks - 1) call rcx_abort(context, 7, why)
    call rcx_barrier(world)
    print *, 'rcx_barrier has returned'
  case ('dead')
    call test_death()
  case default
    error stop 'usage: errors arguments|absent|failed|abort|dead'
  end select
  call close_job()
contains
  subroutine test_arguments()
    type(rcx_comm) :: none, new
    type(rcx_request) :: request
    type(rcx_error_info) :: info
    integer :: x(4), status

    x = rank
    call rcx_bcast(x, 4, RCX_INTEGER, ranks, world, status)
    call expect_status(status, RCX_ERR_ARG, 'a root that is no rank')
    call rcx_allreduce(RCX_IN_PLACE, x, -4, RCX_INTEGER, RCX_SUM, world, status)
    call expect_status(status, RCX_ERR_ARG, 'a negative count')
    call rcx_allreduce(RCX_IN_PLACE, x, 4, RCX_INTEGER, RCX_MAXLOC, world, status)
    call expect_status(status, RCX_ERR_UNSUPPORTED, 'an op that the type does not have')
    call rcx_allreduce(RCX_IN_PLACE, x, 4, rcx_datatype(77), RCX_SUM, world, status)
    call expect_status(status, RCX_ERR_ARG, 'a number that is no type')
    call rcx_allreduce(RCX_IN_PLACE, x, 4, RCX_INTEGER, RCX_SUM, none, status)
    call expect_status(status, RCX_ERR_ARG, 'no communicator')
    call rcx_allgatherv(x, x, [1, 2], datatype=RCX_INTEGER, comm=none, status=status)
    call expect_status(status, RCX_ERR_ARG, 'no communicator, and counts')
    call rcx_iallreduce(x(:2), x(2:), 2, RCX_INTEGER, RCX_SUM, world, request, status)
    call expect_status(status, RCX_ERR_ARG, 'buffers that overlap')
    call expect(request == RCX_REQUEST_NULL, 'then there is no request')
    call rcx_comm_create_group(world, [ranks], 0, new, status)
    call expect_status(status, RCX_ERR_ARG, 'a group of a rank that does not exist')
    call expect(new == RCX_COMM_NULL, 'then there is no communicator')
    call rcx_comm_free(world, status)
    call expect_status(status, RCX_ERR_ARG, 'the world is not freed')
    call expect(all(x == rank), 'nothing has changed')

    call rcx_comm_error(world, info)
    call expect(info%status == RCX_OK .and. info%text == '' .and. size(info%ranks) == 0, &
        'the communicator has not failed')
    call rcx_allreduce(RCX_IN_PLACE, x, 4, RCX_INTEGER, RCX_SUM, world, status)
    call expect_status(status, RCX_OK, 'and is usable')
    call expect(all(x == ranks * (ranks - 1) / 2), 'with a result')
  end subroutine

  ! Arrays that are shorter than what the call accesses.
  subroutine test_lengths()
    integer :: x(4), y(4 * ranks - 1), counts(ranks), status, one, i
    integer(c_size_t) :: long

    x = rank
    y = -1
    call rcx_bcast(x, 5, RCX_INTEGER, 0, world, status)
    call expect_status(status, RCX_ERR_ARG, 'bcast of 5 elements of 4')
    call rcx_bcast(x, 3, RCX_FLOAT64, 0, world, status)
    call expect_status(status, RCX_ERR_ARG, 'bcast of 24 bytes of 16')
    call rcx_bcast(x, 2, RCX_FLOAT64, 0, world, status)
    call expect_status(status, RCX_OK, 'bcast of 16 bytes of 16')
    call rcx_bcast(one, 2, RCX_INTEGER, 0, world, status)
    call expect_status(status, RCX_ERR_ARG, 'bcast of 2 elements of a scalar')
    call rcx_allgather(x, y, 4, RCX_INTEGER, world, status)
    call expect_status(status, RCX_ERR_ARG, 'allgather')
    call rcx_alltoall(y, y, 4, RCX_INTEGER, world, status)
    call expect_status(status, RCX_ERR_ARG, 'alltoall')
    call rcx_reduce_scatter_block(y, x, 4, RCX_INTEGER, RCX_SUM, world, status)
    call expect_status(status, RCX_ERR_ARG, 'reduce_scatter_block')
    long = huge(long)
    call rcx_alltoall(y, y, long, RCX_INTEGER, world, status)
    call expect_status(status, RCX_ERR_ARG, 'bytes that overflow')
    counts = 4
    call rcx_allgatherv(x, y, counts, datatype=RCX_INTEGER, comm=world, status=status)
    call expect_status(status, RCX_ERR_ARG, 'allgatherv')
    call rcx_allgatherv(x, y, counts / 4, [(4 * i, i = 1, ranks)], RCX_INTEGER, world, status)
    call expect_status(status, RCX_ERR_ARG, 'a displacement at the end')
    call rcx_reduce_scatter(y, x, counts, RCX_INTEGER, RCX_SUM, world, status)
    call expect_status(status, RCX_ERR_ARG, 'reduce_scatter')
    call rcx_alltoallv(x, counts - 4, counts, y, counts, [4 * ranks], RCX_INTEGER, world, status)
    call expect_status(status, RCX_ERR_ARG, 'alltoallv')
    call rcx_allgatherv(x, y, counts(2:), datatype=RCX_INTEGER, comm=world, status=status)
    call expect_status(status, RCX_ERR_ARG, 'a count for each rank')
    counts = [-1, counts(2:)]
    call rcx_allgatherv(x, y, counts, datatype=RCX_INTEGER, comm=world, status=status)
    call expect_status(status, RCX_ERR_ARG, 'a negative count among others')
    call rcx_allreduce_many(x, x, [1, 1], RCX_INTEGER, RCX_SUM, world, status)
    call expect_status(status, RCX_ERR_ARG, 'no array of addresses')
    call expect(all(y == -1), 'nothing is written')
    call sizeless(x)
  end subroutine

  ! An assumed-size array has no length to compare with.
  subroutine sizeless(x)
    integer, intent(inout) :: x(*)
    integer :: status

    call rcx_bcast(x, 4, RCX_INTEGER, 0, world, status)
    call expect_status(status, RCX_OK, 'an array of assumed size')
  end subroutine

  ! Blocking calls take any section.
  subroutine test_sections()
    real(c_double) :: a(4, 5, 3), b(0:ranks - 1, 2), before(4, 5, 3)
    character(3) :: words(2, 2)
    integer :: i, status

    a = reshape([(real(i, c_double), i = 1, size(a))], shape(a)) + 1000 * rank
    before = a
    call rcx_bcast(a(2:4:2, :, 3:1:-2), 20, RCX_FLOAT64, 0, world)
    before(2:4:2, :, 3:1:-2) = before(2:4:2, :, 3:1:-2) - 1000 * rank
    call expect(all(a == before), 'a section of three dimensions')
    call rcx_allreduce(a(:, 2, :), a(:, 3, :), 12, RCX_FLOAT64, RCX_MAX, world)
    before(:, 3, :) = merge(before(:, 2, :), before(:, 2, :) + 1000 * (ranks - 1 - rank), &
        spread([.false., .true., .false., .true.], 2, 3) .and. spread([.true., .false., .true.], 1, 4))
    call expect(all(a == before), 'sections on both sides')
    b = -1
    call rcx_allgather(a(1:1, 1, 1), b(:, 2), 1, RCX_FLOAT64, world)
    call expect(all(b(:, 2) == [(1 + 1000 * i, i = 0, ranks - 1)]) .and. all(b(:, 1) == -1), &
        'a row is gathered')
    words = merge('abc', '---', rank == 0)
    call rcx_bcast(words(:, :)(2:3), 8, RCX_CHARACTER, 0, world)
    call expect(all(words == merge('abc', '-bc', rank == 0)), 'substrings')
    call rcx_bcast(a(1, :, :), 15, RCX_FLOAT64, -1, world, status)
    call expect_status(status, RCX_ERR_ARG, 'a section, and a wrong root')
    call rcx_bcast(a(1, :, :), 16, RCX_FLOAT64, 0, world, status)
    call expect_status(status, RCX_ERR_ARG, 'a section that is too short')
    call expect(all(a == before), 'and is not changed')
  end subroutine

  ! Calls that do not block take contiguous arrays.
  subroutine test_sections_in_flight()
    real(c_double), asynchronous :: a(4, 5)
    type(rcx_request) :: request
    integer :: status

    a = rank
    call rcx_ibcast(a(1, :), 5, RCX_FLOAT64, 0, world, request, status)
    call expect_status(status, RCX_ERR_UNSUPPORTED, 'a row in a call that does not block')
    call expect(request == RCX_REQUEST_NULL, 'it has no request')
    call rcx_bcast_init(a(1, :), 5, RCX_FLOAT64, 0, world, request, status)
    call expect_status(status, RCX_ERR_UNSUPPORTED, 'a row in a persistent call')
    call rcx_ibcast(a(:, 2:3), 8, RCX_FLOAT64, 0, world, request, status)
    call expect_status(status, RCX_OK, 'columns are contiguous')
    call rcx_wait(request)
    call rcx_request_free(request)
    call expect(all(a(:, 2:3) == 0) .and. all(a(:, 1) == rank), 'and get their values')
    call rcx_ibcast(a(2:3, 2:2), 2, RCX_FLOAT64, ranks - 1, world, request, status)
    call expect_status(status, RCX_OK, 'a part of a column is contiguous')
    call rcx_wait(request)
    call rcx_request_free(request)
    call rcx_ibcast(a(4:1:-1, 1), 0, RCX_FLOAT64, 0, world, request, status)
    call expect_status(status, RCX_OK, 'of no elements any section is')
    call rcx_wait(request)
    call rcx_request_free(request)
  end subroutine

  subroutine test_death()
    integer, parameter :: rank_that_dies = 1
    type(rcx_comm) :: rest
    type(rcx_error_info) :: info
    type(rcx_request) :: request
    integer, allocatable :: failed(:)
    integer, asynchronous :: x, row(2, 4)
    integer(c_int64_t) :: flags
    integer :: status

    call rcx_barrier(world)
    if (rank == rank_that_dies) status = c_raise(9)
    x = 1
    row = 1
    call rcx_iallreduce(RCX_IN_PLACE, x, 1, RCX_INTEGER, RCX_SUM, world, request, status)
    if (status == RCX_OK) call rcx_wait(request, status)
    call expect_status(status, RCX_ERR_PEER_FAILED, 'a rank is dead')
    call rcx_request_free(request, status)
    call rcx_allreduce(RCX_IN_PLACE, row(1, :), 4, RCX_INTEGER, RCX_SUM, world, status)
    call expect_status(status, RCX_ERR_COMM_FAILED, 'and its communicators have failed')
    call rcx_comm_error(world, info)
    call expect(info%status == RCX_ERR_PEER_FAILED .and. all(info%ranks == [rank_that_dies]), &
        'which is named: ' // info%text)

    call rcx_comm_revoke(world)
    flags = ibset(7_c_int64_t, 10 + rank)
    call rcx_comm_agree(world, flags, 0_c_int64_t)
    call expect(flags == 7 .or. ranks == 2, 'the others agree')
    call rcx_comm_shrink(world, 0_c_int64_t, rest)
    call rcx_comm_failed(world, failed)
    call expect(size(failed) == 1 .and. all(failed == rank_that_dies), 'on which has failed')
    x = 1
    call rcx_allreduce(RCX_IN_PLACE, x, 1, RCX_INTEGER, RCX_SUM, rest)
    call expect(x == ranks - 1, 'and go on without it')
    call rcx_comm_free(rest)
  end subroutine
end program
