! SPDX-License-Identifier: BSD-3-Clause
! Contexts, communicators, messages, requests, users' ops and types, memory, ids and texts.
! Usage: objects PATH, where PATH can be written.
module objects_callbacks
  use check
  use, intrinsic :: iso_c_binding
  implicit none
  integer, target :: calls = 0, answers = 0, lines = 0
  integer :: destroyed = 0
contains
  ! dst = left * right, of 2x2 matrices of integers: not commutative
  function multiply(dst, left, right, count, datatype, arg) bind(c) result(answer)
    type(c_ptr), value :: dst, left, right
    integer(c_size_t), value :: count
    integer(c_int), value :: datatype
    type(c_ptr), value :: arg
    integer(c_int) :: answer
    integer(c_int), pointer :: d(:, :, :), l(:, :, :), r(:, :, :), seen
    integer(c_size_t) :: i

    call c_f_pointer(dst, d, [2_c_size_t, 2_c_size_t, count])
    call c_f_pointer(left, l, [2_c_size_t, 2_c_size_t, count])
    call c_f_pointer(right, r, [2_c_size_t, 2_c_size_t, count])
    call c_f_pointer(arg, seen)
    seen = datatype
    do i = 1, count
      d(:, :, i) = matmul(l(:, :, i), r(:, :, i))
    end do
    answer = 0
  end function

  function refuse(dst, left, right, count, datatype, arg) bind(c) result(answer)
    type(c_ptr), value :: dst, left, right
    integer(c_size_t), value :: count
    integer(c_int), value :: datatype
    type(c_ptr), value :: arg
    integer(c_int) :: answer

    ! all arguments are mentioned, so that compilers do not warn
    answer = merge(1, 2, c_associated(dst) .or. c_associated(left, right) .or. count > 0 .or. &
        datatype > 0 .or. c_associated(arg))
  end function

  subroutine count_call(request, status, arg) bind(c)
    type(c_ptr), value :: request
    integer(c_int), value :: status
    type(c_ptr), value :: arg
    integer, pointer :: counter

    call c_f_pointer(arg, counter)
    counter = counter + 1
    call expect(c_associated(request) .and. status == RCX_OK, 'a callback gets its request')
  end subroutine

  subroutine count_destroyed(data) bind(c)
    type(c_ptr), value :: data

    destroyed = destroyed + merge(1, 0, c_associated(data))
  end subroutine

  subroutine count_line(level, text, arg) bind(c)
    integer(c_int), value :: level
    type(c_ptr), value :: text
    type(c_ptr), value :: arg
    integer, pointer :: counter

    if (level > RCX_LOG_ERROR .or. .not. c_associated(text)) return
    call c_f_pointer(arg, counter)
    counter = counter + 1
  end subroutine

  function end_all(code, text, arg) bind(c) result(answer)
    integer(c_int), value :: code
    type(c_ptr), value :: text, arg
    integer(c_int) :: answer

    answer = merge(1, 2, c_associated(text, arg) .or. code > 0)
  end function

  function copy_to_itself(send, recv, bytes, arg) bind(c) result(answer)
    type(c_ptr), value :: send, recv
    integer(c_size_t), value :: bytes
    type(c_ptr), value :: arg
    integer(c_int) :: answer
    character(kind=c_char), pointer :: from(:), to(:)
    integer, pointer :: counter

    call c_f_pointer(arg, counter)
    counter = counter + 1
    call c_f_pointer(send, from, [bytes])
    call c_f_pointer(recv, to, [bytes])
    to = from
    answer = 0
  end function
end module

program objects
  use objects_callbacks
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none

  call open_job()
  call test_texts()
  call test_communicators()
  call test_creations()
  call test_nodes()
  call test_messages()
  call test_persistent_messages()
  call test_requests()
  call test_callbacks()
  call test_user_ops()
  call test_user_types()
  call test_reduce_local()
  call test_memory()
  call test_dump()
  call test_parameters()
  call test_ids()
  call test_bootstrap()
  call close_job()
contains
  subroutine test_texts()
    type(rcx_request) :: request
    integer :: x

    call expect(index(rcx_version(), '.') > 0, 'there is a version')
    call expect(index(rcx_status_string(RCX_ERR_BUSY), 'RCX_ERR_BUSY') == 1, 'statuses have names')
    call expect(rcx_request_method(request) == '', 'no request has no method')
    call rcx_allreduce_init(RCX_IN_PLACE, x, 1, RCX_INTEGER, RCX_SUM, world, request)
    call expect(len(rcx_request_method(request)) > 0, 'a request has a method')
    call rcx_request_free(request)
  end subroutine

  ! Settings, names and data.
  subroutine test_attributes(comm)
    type(rcx_comm), intent(in) :: comm
    type(rcx_context) :: second
    type(rcx_setting) :: settings(2)
    integer, target, save :: mine
    integer :: status

    call rcx_comm_set(comm, 'RCX_CHECK', 'full')
    call rcx_comm_set(comm, 'RCX_CHECK', 'ful', status)
    call expect(status == RCX_ERR_CONFIG, 'a value that is not valid')
    call expect(rcx_comm_name(world) == 'world', 'the name of the world')
    call expect(rcx_comm_name(comm) == '', 'no name at first')
    call rcx_comm_set_name(comm, 'solver')
    call expect(rcx_comm_name(comm) == 'solver', 'a name')
    call rcx_comm_set_data(comm, c_loc(mine), count_destroyed)
    call expect(c_associated(rcx_comm_data(comm), c_loc(mine)), 'data of the host')
    settings(1)%name = 'RCX_CHECK'
    settings(1)%value = 'off'
    settings(2)%name = 'RCX_ALREDUCE'
    settings(2)%value = 'ring'
    settings(2)%flags = RCX_SETTING_FINAL
    call rcx_init(second, name='settings', settings=settings(1:1))
    call rcx_finalize(second)
    call rcx_init(second, name='unknown', settings=settings, status=status)
    call expect(status == RCX_ERR_CONFIG, 'a setting that is not known')
    call expect(rcx_status_is_fatal(RCX_ERR_TIMEOUT) == 1, 'a fatal status')
    call rcx_peer_failed(context, [integer ::])
    call rcx_peer_failed(context, [rank], status)
    call expect(status == RCX_ERR_ARG, 'a rank is not its own peer')
  end subroutine

  ! Blanks that pad variables are no part of texts.
  subroutine test_padded(comm)
    type(rcx_comm), intent(in) :: comm
    character(32) :: name = 'RCX_CHECK', value = 'full', called = 'padded', address = 'localhost:0'
    type(rcx_context) :: second
    type(rcx_setting) :: setting
    type(rcx_id) :: id
    integer :: status

    call rcx_comm_set(comm, name, value, status)
    call expect_status(status, RCX_OK, 'a setting from variables')
    call rcx_comm_set_name(comm, called)
    call expect(len(rcx_comm_name(comm)) == 6, 'a name from a variable')
    setting%name = name
    setting%value = value
    call rcx_init(second, name=called, settings=[setting], status=status)
    call expect_status(status, RCX_OK, 'a context by variables')
    call rcx_finalize(second)
    call rcx_get_id(id, address, status)
    call expect_status(status, RCX_OK, 'an address from a variable')
  end subroutine

  subroutine test_communicators()
    type(rcx_comm) :: other, half, none, pair
    integer :: result, i, found(2)

    call expect(rcx_comm_context(world) == context, 'a communicator knows its context')
    call rcx_comm_dup(world, other)
    call expect(other /= world .and. other /= RCX_COMM_NULL, 'a duplicate is another one')
    call rcx_comm_compare(world, other, result)
    call expect(result == RCX_COMM_CONGRUENT, 'a duplicate is congruent')
    call rcx_comm_set_timeout(other, 60_int64 * 10_int64**9)
    call test_attributes(other)
    call test_padded(other)

    call rcx_comm_split(other, mod(rank, 2), -rank, half)
    call expect(rcx_comm_size(half) == (ranks + 1 - mod(rank, 2)) / 2, 'ranks of one color')
    call rcx_comm_translate(half, [0, rcx_comm_size(half) - 1], world, found)
    call expect(found(2) == mod(rank, 2) .and. found(1) >= found(2), 'keys order ranks')
    call rcx_comm_split(other, RCX_UNDEFINED, 0, none)
    call expect(none == RCX_COMM_NULL, 'no color, no communicator')

    ! ranks, and what is found, in every other element
    block
      integer :: spread(2, ranks), answer(2, ranks)

      spread = -9
      spread(1, :) = [(i, i = ranks - 1, 0, -1)]
      call rcx_comm_create_group(world, spread(1, :), 3, pair)
      call expect(rcx_comm_rank(pair) == ranks - 1 - rank, 'a group in the order of an array')
      answer = -9
      call rcx_comm_translate(world, spread(1, :), pair, answer(2, :))
      call expect(all(answer(2, :) == [(i, i = 0, ranks - 1)]), 'ranks are translated')
      call expect(all(answer(1, :) == -9), 'and nothing else is written')
    end block
    call rcx_comm_free(pair)
    call rcx_comm_free(half)
    call rcx_comm_free(other)
    call expect(destroyed == 1, 'data of the host is freed with its communicator')
    call expect(other == RCX_COMM_NULL, 'a communicator that was freed is null')
  end subroutine

  ! Communicators that are made while the world is used.
  subroutine test_creations()
    type(rcx_comm), asynchronous :: made(3)
    type(rcx_request) :: requests(3)
    integer :: i, result, total

    call rcx_comm_idup(world, made(1), requests(1))
    call rcx_comm_isplit(world, mod(rank, 2), -rank, made(2), requests(2))
    call rcx_comm_icreate_group(world, [(i, i = ranks - 1, 0, -1)], 4, made(3), requests(3))
    total = 1
    call rcx_allreduce(RCX_IN_PLACE, total, 1, RCX_INTEGER, RCX_SUM, world)
    call expect(total == ranks, 'a sum meanwhile')
    call rcx_wait_all(requests)
    call rcx_request_free(requests)
    call rcx_comm_compare(world, made(1), result)
    call expect(result == RCX_COMM_CONGRUENT, 'idup')
    call expect(rcx_comm_size(made(2)) == (ranks + 1 - mod(rank, 2)) / 2, 'isplit')
    call expect(rcx_comm_rank(made(3)) == ranks - 1 - rank, 'icreate_group')
    do i = 1, 3
      call rcx_comm_free(made(i))
    end do
  end subroutine

  subroutine test_nodes()
    type(rcx_comm) :: node
    integer :: number

    call rcx_comm_node_of(world, ranks - 1, number)
    call expect(number == 0, 'all ranks share a node')
    call rcx_comm_split_node(world, 0, node)
    call expect(rcx_comm_size(node) == ranks, 'which is a communicator')
    call rcx_comm_free(node)
  end subroutine

  ! Around a ring, with counts of both kinds; then any source, and a short message.
  subroutine test_messages()
    type(rcx_request) :: requests(2)
    type(rcx_recv_info) :: info
    integer, asynchronous :: x(4), y(4)
    integer :: left, right, i, found, status

    right = modulo(rank + 1, ranks)
    left = modulo(rank - 1, ranks)
    x = rank
    y = -1
    call rcx_irecv(y, 4, RCX_INTEGER, left, 1, world, requests(1))
    call rcx_isend(x, 4, RCX_INTEGER, right, 1, world, requests(2))
    call rcx_wait_all(requests)
    call expect(all(y == left), 'irecv')
    call rcx_request_recv_info(requests(1), info)
    call expect(info%source == left .and. info%tag == 1 .and. info%count == 4, 'its info')
    call rcx_request_free(requests)
    call expect(all(requests == RCX_REQUEST_NULL), 'arrays of requests are freed')

    y = -1
    call rcx_irecv(y, 4_int64, RCX_INTEGER, RCX_ANY_SOURCE, 2, world, requests(1))
    call rcx_isend(x(:2), 2_int64, RCX_INTEGER, right, 2, world, requests(2))
    call rcx_wait_all(requests)
    call rcx_request_recv_info(requests(1), info)
    call expect(all(y == [left, left, -1, -1]) .and. info%count == 2, 'a short message')
    call rcx_request_free(requests)

    y = -1
    call rcx_sendrecv(x, 2, RCX_INTEGER, right, 3, y, 4, RCX_INTEGER, left, 3, world, info)
    call expect(all(y == [left, left, -1, -1]) .and. info%count == 2, 'sendrecv')
    call rcx_sendrecv(x, 4_int64, RCX_INTEGER, right, 3, y, 4_int64, RCX_INTEGER, left, 3, world)
    call expect(all(y == left), 'sendrecv without info')
    call rcx_irecv(y, 4, RCX_INTEGER, left, 4, world, requests(1))
    call rcx_test_all(requests(:1), found)
    call expect(found == 0, 'test_all')
    call rcx_cancel(requests(1))
    call rcx_wait(requests(1), status)
    call expect(status == RCX_ERR_CANCELED, 'cancel')
    call rcx_isend(x, 4, RCX_INTEGER, right, 5, world, requests(2))
    found = 0
    do while (found == 0)
      call rcx_iprobe(RCX_ANY_SOURCE, 5, world, found, info)
    end do
    call expect(info%source == left .and. info%count == 16, 'iprobe')
    call rcx_recv(y, 4, RCX_INTEGER, left, 5, world)
    call rcx_wait(requests(2))
    call rcx_test_all(requests, found, status)
    call expect(found == 1 .and. status == RCX_ERR_CANCELED, 'test_all has the first error')
    call rcx_request_free(requests)
    call rcx_barrier(world)

    if (rank == 0) then
      do i = 1, ranks - 1
        call rcx_recv(y, 4, RCX_INTEGER, i, RCX_TAG_MAX, world)
        call expect(all(y == i), 'recv without info')
        call rcx_recv(y, 4_int64, RCX_INTEGER, i, 0, world, info)
        call expect(all(y == i) .and. info%source == i, 'recv')
      end do
    else
      call rcx_send(x, 4, RCX_INTEGER, 0, RCX_TAG_MAX, world)
      call rcx_send(x, 4_int64, RCX_INTEGER, 0, 0, world)
    end if
  end subroutine

  subroutine test_persistent_messages()
    type(rcx_request) :: requests(4)
    integer, asynchronous :: x(4), y(4), z(4)
    integer :: left, right, i

    right = modulo(rank + 1, ranks)
    left = modulo(rank - 1, ranks)
    call rcx_recv_init(y, 4, RCX_INTEGER, left, 1, world, requests(1))
    call rcx_recv_init(z, 4_int64, RCX_INTEGER, right, 1, world, requests(2))
    call rcx_send_init(x, 4, RCX_INTEGER, left, 1, world, requests(3))
    call rcx_send_init(x, 4_int64, RCX_INTEGER, right, 1, world, requests(4))
    do i = 1, 3
      x = 10 * rank + i
      call rcx_start(requests(1))
      call rcx_start(requests(2))
      call rcx_start(requests(3))
      call rcx_start(requests(4))
      call rcx_wait_all(requests)
      call expect(all(y == 10 * left + i) .and. all(z == 10 * right + i), 'persistent messages')
    end do
    call rcx_request_free(requests)
  end subroutine

  ! test, wait_for, wait_any and test_any; indices are those of Fortran.
  subroutine test_requests()
    type(rcx_request) :: requests(3), none
    integer, asynchronous :: token
    integer :: at, status, fd
    logical :: done

    call rcx_barrier(world)
    if (rank == 0) then
      call rcx_irecv(token, 1, RCX_INTEGER, 0, 5, world, requests(3))
      call rcx_test(requests(3), done, status)
      call expect(.not. done .and. status == RCX_OK, 'no message yet')
      call rcx_test_any(requests, at, status)
      call expect(status == RCX_IN_PROGRESS, 'none is complete')
      call rcx_wait_for(requests(3), 1000_int64, status)
      call expect(status == RCX_IN_PROGRESS, 'and is not after a microsecond')
      call rcx_test_any(requests, at) ! RCX_IN_PROGRESS is no error
      call rcx_isend(42, 1, RCX_INTEGER, 0, 5, world, requests(1))
      call rcx_wait_any(requests, at)
      call expect(at == 1 .or. at == 3, 'one of two is complete')
      call rcx_wait_any(requests, at)
      call expect(at == 1 .or. at == 3, 'then the other')
      call rcx_wait_any(requests, at)
      call expect(at == 0, 'then none is left')
      call rcx_test_any(requests, at, status)
      call expect(at == 0 .and. status == RCX_OK, 'nor for test_any')
      call rcx_wait_any(requests(3:1:-2), at)
      call expect(at == 0, 'nor in a section')
      call expect(token == 42, 'the message has arrived')
      done = .false.
      do while (.not. done)
        call rcx_test(requests(3), done)
      end do
      call rcx_request_free(requests)
    end if
    call expect(rcx_progress(context) >= 0, 'progress')
    call rcx_get_fd(context, fd, status)
    call expect_status(status, RCX_ERR_UNSUPPORTED, 'no descriptor without wakeup')
    call rcx_arm(context, status)
    call expect_status(status, RCX_ERR_UNSUPPORTED, 'nor arm')
    call rcx_start(none, status)
    call expect_status(status, RCX_ERR_ARG, 'no request cannot start')
  end subroutine

  subroutine test_callbacks()
    type(rcx_request) :: request
    integer, asynchronous :: x

    x = 1
    call rcx_allreduce_init(RCX_IN_PLACE, x, 1, RCX_INTEGER, RCX_MAX, world, request)
    call rcx_request_set_callback(request, count_call, c_loc(calls))
    call rcx_start(request)
    call rcx_wait(request)
    call rcx_start(request)
    call rcx_wait(request)
    call rcx_request_free(request)
    call expect(calls == 2, 'a callback is made at each completion')
  end subroutine

  subroutine test_user_ops()
    type(rcx_op) :: op
    type(rcx_datatype) :: matrix
    integer(c_int), target :: seen
    integer(c_int) :: mine(2, 2, 2), product(2, 2, 2), wanted(2, 2)
    integer :: r, status

    call rcx_type_create(context, 16, matrix)
    call rcx_op_create(context, multiply, 0, c_loc(seen), op)
    call expect(rcx_op_supported(op, matrix), "a user's op on a user's type")
    wanted = reshape([1, 0, 0, 1], [2, 2])
    do r = 0, ranks - 1
      wanted = matmul(wanted, of(r))
    end do
    mine(:, :, 1) = of(rank)
    mine(:, :, 2) = of(rank)
    call rcx_allreduce(mine, product, 2, matrix, op, world)
    call expect(all(product(:, :, 1) == wanted) .and. all(product(:, :, 2) == wanted), &
        "a user's op, in the order of ranks")
    call expect(ranks == 1 .or. rcx_datatype(seen) == matrix, 'which gets its type and argument')
    call rcx_op_free(context, op)
    call expect(op%number == 0, 'an op that was freed is 0')

    call rcx_op_create(context, refuse, RCX_OP_COMMUTATIVE, c_null_ptr, op)
    call rcx_allreduce(mine, product, 2, matrix, op, world, status)
    call expect_status(status, merge(RCX_OK, RCX_ERR_OP, ranks == 1), 'an op that fails')
    call rcx_op_free(context, op)
    call rcx_type_free(context, matrix)
    call expect(matrix%number == 0, 'a type that was freed is 0')
  end subroutine

  pure function of(r) result(matrix)
    integer, intent(in) :: r
    integer :: matrix(2, 2)

    matrix = reshape([r + 1, 2, 1, r], [2, 2])
  end function

  subroutine test_user_types()
    type(rcx_datatype) :: text
    integer(c_size_t) :: bytes
    character(7) :: names(2)

    call rcx_type_create(context, 7_int64, text)
    call rcx_type_size(context, text, bytes)
    call expect(bytes == 7, "a user's type has a size")
    call rcx_type_size(RCX_CONTEXT_NULL, RCX_COMPLEX_DOUBLE, bytes)
    call expect(bytes == 16, 'and each of RCX')
    names = merge('of zero', 'another', rank == 0)
    call rcx_bcast(names, 2, text, 0, world)
    call expect(all(names == 'of zero'), "a user's type is moved")
    call rcx_type_free(context, text)
  end subroutine

  subroutine test_reduce_local()
    integer :: x(3)

    call rcx_reduce_local(context, x, [1, 2, 3], [10, 20, 30], 3, RCX_INTEGER, RCX_SUM)
    call expect(all(x == [11, 22, 33]), 'reduce_local')
    call rcx_reduce_local(context, x, [1, 2, 3], [3, 2, 1], 3_int64, RCX_INTEGER, RCX_MAX)
    call expect(all(x == [3, 2, 3]), 'reduce_local, with a long count')
  end subroutine

  subroutine test_memory()
    type(c_ptr) :: memory, peers(ranks)
    real(c_double), pointer :: x(:)
    real(c_double), target :: own(100)

    call rcx_mem_alloc(world, 800, memory)
    call c_f_pointer(memory, x, [100])
    x = rank
    call rcx_allreduce(RCX_IN_PLACE, x, size(x), RCX_FLOAT64, RCX_MAX, world)
    call expect(all(x == ranks - 1), 'memory of RCX')
    call rcx_mem_peers(world, memory, peers)
    call expect(c_associated(peers(rank + 1), memory), 'peers have own memory')
    call rcx_mem_free(world, memory)
    call rcx_mem_alloc(world, 800_int64, memory)
    call rcx_mem_free(world, memory)
    call rcx_mem_register(world, c_loc(own), 800)
    call rcx_mem_deregister(world, c_loc(own))
    call rcx_mem_register(world, c_loc(own), 800_int64)
    call rcx_mem_deregister(world, c_loc(own))
  end subroutine

  subroutine test_dump()
    character(200) :: path
    character(4) :: number
    logical :: exists
    integer :: status

    call get_command_argument(1, path)
    write (number, '(i0)') rank
    path = trim(path) // '.' // number
    call rcx_dump(context, path)
    inquire (file=path, exist=exists)
    call expect(exists, 'a dump is written')
    call rcx_dump(context, '/nowhere/dump', status)
    call expect_status(status, RCX_ERR_ARG, 'a dump to nowhere')
  end subroutine

  ! Each parameter of rcx_init().
  subroutine test_parameters()
    type(rcx_context) :: other
    integer :: fd, status, x

    call rcx_init(other, name='fortran', order=RCX_ORDER_CANONICAL, threads=RCX_THREAD_MULTIPLE, &
        timeout_ns=60_int64 * 10_int64**9, wakeup=.true., progress_thread=.false., &
        log=count_line, log_arg=c_loc(lines))
    call rcx_get_fd(other, fd)
    call expect(fd > 0, 'a descriptor')
    do
      call expect(rcx_progress(other) >= 0, 'progress')
      call rcx_arm(other, status)
      if (status /= RCX_IN_PROGRESS) exit
    end do
    call expect_status(status, RCX_OK, 'arm')
    x = rank
    call rcx_allreduce(RCX_IN_PLACE, x, 1, RCX_INTEGER, RCX_MAX, rcx_world(other))
    call expect(x == ranks - 1, 'a second context')
    call rcx_bcast(x, 1, RCX_INTEGER, -1, rcx_world(other), status)
    call expect(status == RCX_ERR_ARG .and. lines == 1, 'its errors go to its log')
    call rcx_finalize(other)
    call expect(other == RCX_CONTEXT_NULL, 'a context that was destroyed is null')

    call rcx_init(other, order=99, status=status)
    call expect_status(status, RCX_ERR_ARG, 'an order that does not exist')
  end subroutine

  ! A job of one by an id, which is passed on as a text.
  subroutine test_ids()
    type(rcx_id) :: id, same
    type(rcx_context) :: alone
    integer :: status

    call rcx_get_id(id, 'localhost:0')
    call expect(len(rcx_id_text(id)) > 16, 'an id is a text')
    same = rcx_id(rcx_id_text(id))
    call expect(all(id%text == same%text), 'a text is an id')
    call rcx_init(alone, id=same, rank=0, size=1)
    call expect(rcx_comm_size(rcx_world(alone)) == 1, 'a job by an id')
    call rcx_finalize(alone)
    call rcx_get_id(id, 'no such port', status)
    call expect_status(status, RCX_ERR_ARG, 'an address that is none')
  end subroutine

  ! A host's own, of one process.
  subroutine test_bootstrap()
    type(rcx_context) :: alone
    type(rcx_bootstrap) :: bootstrap

    bootstrap%size = 1
    bootstrap%allgather = c_funloc(copy_to_itself)
    bootstrap%arg = c_loc(answers)
    call rcx_init(alone, bootstrap=bootstrap, bootstrap_abort=end_all)
    call expect(rcx_comm_size(rcx_world(alone)) == 1 .and. answers > 0, "a bootstrap of the host's own")
    call rcx_finalize(alone)
  end subroutine
end program
